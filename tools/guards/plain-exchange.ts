import type { Guard } from './guard.ts'

const OWN = 'test/store/postgres/plain-exchange.test.ts'

/** What speaks against an exchange in one journey, and who would notice that it was not asked for. */
const CONDITIONS: readonly [what: string, find: string, replace: string, title: string][] = [
  ['its session lives', '`live AND ', '`', 'the end of its session'],
  ['not everything is paused', 'NOT everything AND ', '', 'a pause of everything'],
  ['no queue is paused', 'cardinality(queues) = 0 AND ', '', 'a pause of its queue'],
  ['the order of the queues', 'version = $2 AND ', '$2::bigint >= 0 AND ', 'the order of its queue'],
  ['there are no limits', 'limits = 0 AND ', '', 'a limit'],
  ['all lanes are known', 'highest = $3', '$3::bigint >= 0', 'a name that nobody had enqueued before'],
  ['no suspect waits', 'AND NOT suspects AND', 'AND', 'a suspect, which an empty worker takes alone'],
  [
    'nothing has become due',
    'AND coalesce("dueAt" > coalesce($4::bigint, now), true)',
    '',
    'a task that has become due',
  ],
]

/** Exchanges that are asked for at once, before it is known whether they may be. */
export const PLAIN_EXCHANGE: readonly Guard[] = [
  ...CONDITIONS.map(([what, find, replace, title]) => ({
    name: `postgres: an exchange in one journey asks first: ${what}`,
    promise: 'What has changed since the last exchange counts from the next one on.',
    file: 'src/store/postgres/tasks/claim.ts',
    find,
    replace,
    test: { file: OWN, title: `what has changed since the last exchange counts all the same > ${title}` },
  })),
  {
    name: 'postgres: a completion that must not be is not made',
    promise: 'An exchange that finds something changed is made once, step by step.',
    file: 'src/store/postgres/tasks/exchange.ts',
    find: ' AND (SELECT now FROM moment) IS NOT NULL RETURNING',
    replace: ' RETURNING',
    test: { file: OWN, title: 'a pause of everything' },
  },
  {
    name: 'postgres: a claim that must not be is not made',
    promise: 'Nothing is claimed by an exchange whose answer says that nothing was.',
    file: 'src/store/postgres/tasks/take.ts',
    find: ' IS NOT NULL`',
    replace: ' IS DISTINCT FROM 0`',
    test: { file: OWN, title: 'a pause of everything' },
  },
  {
    name: 'postgres: who ends a session waits for an exchange in one journey',
    promise: 'What was claimed while the session was ended goes back with it.',
    file: 'src/store/postgres/tasks/claim.ts',
    find: ' FOR KEY SHARE) o',
    replace: ') o',
    test: {
      file: OWN,
      title: 'who ends the session while it is asked for waits for it, and finds what it claimed',
    },
  },
  {
    name: 'postgres: of statements asked for together the one that failed is named',
    promise: 'An error says what went wrong, not what followed from it.',
    file: 'src/store/postgres/server/database.ts',
    find: 'throw failures[0]',
    replace: 'throw failures.at(-1)',
    test: {
      file: OWN,
      title: 'should a statement of it fail, nothing is done, and the one that failed is named',
    },
  },
  {
    name: 'postgres: who ends a session waits for effects',
    promise: 'Effects and the end of their session do not wait for each other.',
    file: 'src/store/postgres/sessions/sessions.ts',
    find: 'FROM gleaner.sessions WHERE id = $1 FOR KEY SHARE`',
    replace: 'FROM gleaner.sessions WHERE id = $1`',
    test: {
      file: 'test/store/postgres/sessions.test.ts',
      title: 'who ends a session waits for effects that are under way, and they are kept',
    },
  },
]
