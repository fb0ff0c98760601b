import type { Guard } from './guard.ts'

const HOSTILE = 'test/store/postgres/hostile-settings.test.ts'
const SETTINGS = 'src/store/postgres/server/settings.ts'
const ENGINE = 'an engine works as ever, whatever the server, the database or the role has set'

const PATH = {
  file: 'test/store/postgres/search-path.test.ts',
  title: 'functions and operators that others created in a schema of the search_path are never called',
}

/** What a server sets for its other clients must not reach Gleaner, nor the other way round. */
export const POSTGRES_SETTINGS: readonly Guard[] = [
  {
    name: 'postgres: our own statements ignore the search_path of the role',
    promise: 'A function that another role created is never called.',
    file: SETTINGS,
    find: '    ...(runsUserSql ? [] : [OWN_PATH]),\n',
    replace: '',
    test: PATH,
  },
  {
    name: 'postgres rows: keys are compared by the operators of their type',
    promise: 'An operator that another role created is never called.',
    file: 'src/store/postgres/rows/source.ts',
    find: `OPERATOR(\${quoted(operators)}.\${operator})`,
    replace: `\${operator}`,
    test: PATH,
  },
  {
    name: 'postgres: no plan of ours is compiled',
    promise: 'Claims are as fast on a stock server, which compiles plans that look expensive.',
    file: SETTINGS,
    find: "  ['jit', 'off'],\n",
    replace: '',
    test: { file: HOSTILE, title: ENGINE },
  },
  {
    name: 'postgres: dates come in the format that the driver reads',
    promise: 'A handler gets the values of its row, whatever the server is set to.',
    file: SETTINGS,
    find: "  ['DateStyle', 'ISO'],\n",
    replace: '',
    test: { file: HOSTILE, title: ENGINE },
  },
  {
    name: 'postgres: a session is not assumed behind a pooler',
    promise: 'Behind PgBouncer in transaction mode no setting is left behind.',
    file: SETTINGS,
    find: 'return options.notify !== false',
    replace: 'return options !== null',
    test: {
      file: HOSTILE,
      title:
        'behind a pooler that changes connections, no setting is left behind and none is needed at the start',
    },
  },
  {
    name: 'postgres: the connection that listens does not end',
    promise: 'A server that ends idle connections costs no notifications.',
    file: 'src/store/postgres/server/wakeups.ts',
    find: '      await client.query(UNENDING)\n',
    replace: '',
    test: {
      file: HOSTILE,
      title: 'the connection that listens stays, however soon the server ends idle ones',
    },
  },
  {
    name: 'postgres: while the worker rests, everything goes by its connection',
    promise: 'An idle process has three connections.',
    file: 'src/store/postgres/server/connections.ts',
    find: ' || this.#hasRested)) return undefined',
    replace: ')) return undefined',
    test: {
      file: 'test/store/postgres/connections.test.ts',
      title: 'is far more than an idle process has: one for everything, one that listens and one that renews',
    },
  },
]
