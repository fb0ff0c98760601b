import type { Guard } from './guard.ts'

const OWN = 'test/store/postgres/plain-exchange.test.ts'
const TWO = 'test/store/postgres/two-journeys.test.ts'
const JOURNEY = 'test/store/postgres/journey.test.ts'

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
    file: 'src/store/postgres/tasks/preconditions.ts',
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
    file: 'src/store/postgres/tasks/preconditions.ts',
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
    file: 'src/store/postgres/server/pipeline.ts',
    find: '    for (const { reject } of this.#asked.slice(this.#answered)) reject(error)\n    this.#over.reject(error)',
    replace: '    this.#over.resolve()',
    test: {
      file: OWN,
      title: 'should a statement of it fail, nothing is done, and the one that failed is named',
    },
  },
  {
    name: 'postgres: who ends a session waits for effects',
    promise: 'Effects and the end of their session do not wait for each other.',
    file: 'src/store/postgres/sessions/live.ts',
    find: 'FROM gleaner.sessions WHERE id = $1 FOR KEY SHARE`',
    replace: 'FROM gleaner.sessions WHERE id = $1`',
    test: {
      file: 'test/store/postgres/sessions.test.ts',
      title: 'who ends a session waits for effects that are under way, and they are kept',
    },
  },
  {
    name: 'postgres: what one of two journeys has handed in is not handed in again',
    promise: 'An exchange that finds something changed hands everything in once.',
    file: 'src/store/postgres/tasks/plain-exchange.ts',
    find: 'if (handedIn === null) return [{ ...exchange, want }, spent]',
    replace: 'return [{ ...exchange, want }, spent]',
    test: {
      file: TWO,
      title:
        'what was handed in before something changed counts, and what is claimed then is claimed as it is now',
    },
  },
  {
    name: 'postgres: what one of two journeys did not hand in is handed in step by step',
    promise: 'What was completed is handed in, whatever changes meanwhile.',
    file: 'src/store/postgres/tasks/plain-exchange.ts',
    find: 'if (handedIn === null) return [{ ...exchange, want }, spent]',
    replace: 'if (handedIn === null) return [{ ...exchange, outcomes: [], want }, spent]',
    test: {
      file: TWO,
      title:
        'what was claimed before something changed counts, and what is handed in then is handed in as it is now',
    },
  },
  {
    name: 'postgres: the end of a session between two journeys is told',
    promise: 'A worker whose session has ended runs nothing that was given back.',
    file: 'src/store/postgres/tasks/plain-exchange.ts',
    find: 'sessionEnded: rest?.answer.sessionEnded ?? false',
    replace: 'sessionEnded: false',
    test: {
      file: TWO,
      title: 'a session that ends between the two loses what it has claimed, and what it did not hand in',
    },
  },
  {
    name: 'postgres: of two journeys both are over before one is told to have failed',
    promise: 'After an exchange that failed, what it claimed all the same is found and goes back.',
    file: 'src/store/postgres/tasks/plain-exchange.ts',
    find: '  await Promise.allSettled([claiming, handingIn])\n',
    replace: '',
    test: {
      file: TWO,
      title:
        'should one of them fail, the other is over when that is told, and the next exchange puts it right',
    },
  },
  {
    name: 'postgres: batches go with the last of their tasks',
    promise: 'A claimed task is always within reach of the end of its session.',
    file: 'src/store/postgres/tasks/plain-exchange.ts',
    find: 'completeMany(sql, session, outcomes, decided.length > 0 ? [] : spent, false, null)',
    replace: 'completeMany(sql, session, outcomes, spent, false, null)',
    test: {
      file: OWN,
      title: 'a task whose failure never arrives stays within reach of the end of its session',
    },
  },
  {
    name: 'postgres: reports of a journey that does nothing are not made',
    promise: 'An exchange that finds something changed is made once, step by step.',
    file: 'src/store/postgres/manage/logs.ts',
    find: ` AND \${momentOf('$13')} IS NOT NULL`,
    replace: '',
    test: { file: OWN, title: 'reports of a journey that does nothing are handed in step by step, once' },
  },
  {
    name: 'postgres: where others work there is one journey',
    promise: 'Several processes do not get in each other’s way.',
    file: 'src/store/postgres/tasks/plain-exchange.ts',
    find: ' && memory.usual.isAlone(exchange.session)',
    replace: '',
    test: { file: TWO, title: 'where another session lives it goes by one connection' },
  },
  {
    name: 'postgres: what is prepared is known to be',
    promise: 'A statement that failed can be asked again on the same connection.',
    file: 'src/store/postgres/server/pipeline.ts',
    find: 'if (name !== undefined) this.#connection!.parsedStatements[name] = text',
    replace: '',
    test: { file: JOURNEY, title: 'one that fails takes those behind it along, and is named' },
  },
  {
    name: 'postgres: lists are written as the server reads them',
    promise: 'What a user gave arrives as it was.',
    file: 'src/store/postgres/server/pipeline.ts',
    find: `.replaceAll(/["\\\\]/g, '\\\\$&')`,
    replace: '',
    test: { file: JOURNEY, title: 'lists and what stands in them arrive as they were' },
  },
  {
    name: 'postgres: what cannot be read is told to who asked for it',
    promise: 'A value that cannot be read is not taken for nothing.',
    file: 'src/store/postgres/server/pipeline.ts',
    find: 'asked.reject(error)',
    replace: 'asked.rows.length = 0',
    test: {
      file: JOURNEY,
      title: 'a value that cannot be read fails the statement that asked for it, and no other',
    },
  },
  {
    name: 'postgres: a look goes by indexes',
    promise: 'What an idle worker costs does not depend on what else is in the table.',
    file: 'src/store/postgres/server/database.ts',
    find: 'const IN_BETWEEN: Sending = { options: { durable: false, byIndex: true }',
    replace: 'const IN_BETWEEN: Sending = { options: { durable: false, byIndex: false }',
    test: {
      file: 'test/store/postgres/plans.test.ts',
      title: 'an idle worker looks into indexes only, also before the planner knows what is in the table',
    },
  },
  {
    name: 'postgres: ends are announced less often',
    promise: 'Workers that hand in do not keep waking all others.',
    file: 'src/store/postgres/server/wakeups.ts',
    find: '{ work: 5, ended: 25 }',
    replace: '{ work: 5, ended: 5 }',
    test: {
      file: 'test/store/postgres/wakeups.test.ts',
      title: 'of ends comes less often than one of work, which takes it along',
    },
  },
  {
    name: 'keeper: what could not be opened is opened again',
    promise: 'A database that is away when a worker starts costs it nothing but the wait.',
    file: 'src/store/sqlite/sessions/renewer.ts',
    find: 'let opened: Connection | undefined',
    replace: 'let opened: Connection | undefined = new Connection(path)',
    test: {
      file: 'test/worker/renewing.test.ts',
      title: 'a database that is not there at first is opened later',
    },
  },
]
