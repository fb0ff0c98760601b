import type { Guard } from './guard.ts'

const CRASH = 'test/store/postgres/server-crash.test.ts'
const LIFE = 'src/store/postgres/server/server-life.ts'

/** What a server that lost its last commits must not break. */
export const SERVER_LIFE: readonly Guard[] = [
  {
    name: 'postgres: the usual exchange sees that the server has lost something',
    promise: 'Nothing held is out of reach of the end of its session.',
    file: 'src/store/postgres/tasks/preconditions.ts',
    find: ' AND life = $5::bigint',
    replace: ' AND ($5::bigint IS NULL OR true)',
    test: {
      file: CRASH,
      title:
        'a completion that a crash of the server forgot is done again, also if the rest of its batch ends when it is back',
    },
  },
  {
    name: 'postgres: batches stay while it is not certain what of them is held',
    promise: 'Nothing held is out of reach of the end of its session.',
    file: 'src/store/postgres/tasks/exchange.ts',
    find: 'isCertain ? spent : []',
    replace: 'spent',
    test: {
      file: CRASH,
      title:
        'a completion that a crash of the server forgot is done again, also if the rest of its batch ends while the server is away',
    },
  },
  {
    name: 'postgres: an idle worker looks whether the server has lost something',
    promise: 'What a worker handed in and the server forgot is done again.',
    file: 'src/store/postgres/tasks/exchange.ts',
    find: "  if (!memory.life.isCompared('tasks', session, outlook.life)) return null\n",
    replace: '',
    test: { file: CRASH, title: 'an idle worker finds out that the server forgot what it had handed in' },
  },
  {
    name: 'postgres: a worker that looks for rows sees that the server has lost something',
    promise: 'A row whose completion was forgotten is done again.',
    file: 'src/store/postgres/rows/exchange.ts',
    find: 'looking !== null && !looking.isCertain(seen!)',
    replace: 'false',
    test: { file: CRASH, title: 'a row whose completion a crash of the server forgot is done again' },
  },
  {
    name: 'postgres: a new life begins with new fences',
    promise: 'A fence is never given out twice.',
    file: LIFE,
    find: "await sql.run(\n    `SELECT pg_catalog.setval('gleaner.fence'",
    replace: "void (\n    `SELECT pg_catalog.setval('gleaner.fence'",
    test: {
      file: CRASH,
      title: 'no fence is given out twice, although the server forgot that it gave it out',
    },
  },
  {
    name: 'sqlite: a session begins with new fences',
    promise: 'A fence is never given out twice.',
    file: 'src/store/sqlite/store.ts',
    find: '        reserveFences(db)\n',
    replace: '',
    test: {
      file: 'test/store/sqlite/fences-after-power-cut.test.ts',
      title: 'a fence that a power cut took back is not given out again',
    },
  },
  ...(['sqlite', 'postgres'] as const).map((store) => ({
    name: `${store}: check gives back what is out of reach`,
    promise: 'check repairs what it finds.',
    file: 'src/store/soundness.ts',
    find: '  await repair()\n',
    replace: '  void repair\n',
    test: {
      file: 'test/store/check-repairs.test.ts',
      title: `check gives back a task that no live session holds, and says that it did (${store === 'sqlite' ? 'SQLite' : 'PostgreSQL'})`,
    },
  })),
]
