import type { Guard } from './guard.ts'

const ROWS = 'src/store/sqlite/rows'
const PROBATION = 'test/worker/cautious-start.test.ts'
const TOGETHER = 'test/store/sqlite/rows-together.test.ts'
const ROWS_TEST = 'test/store/sqlite/rows.test.ts'
const NO_SCAN = 'no statement of a discovery scans a table of ours, nor the user’s, with a key of'

/** What keeps rows fast, and right although they are fast. */
export const DISCOVERY_SPEED: readonly Guard[] = [
  {
    name: 'many rows that go in one by one prove their claims',
    promise: 'A worker that woke up too late changes no row, however many it hands in.',
    file: `${ROWS}/statements.ts`,
    find: 'AND fence = @fence AND session = @session)',
    replace: 'AND true)',
    test: { file: TOGETHER, title: 'late ones that go in one by one write nothing' },
  },
  {
    name: 'blobs are digested',
    promise: 'Any edit of a row is an edit.',
    file: `${ROWS}/digest.ts`,
    find: "[...isShort, ...noBlobs].join(' AND ')",
    replace: "[...isShort, 'true', ...noBlobs.slice(0, 0)].join(' AND ')",
    test: { file: TOGETHER, title: 'the version of a row tells any two values of a column of type "" apart' },
  },
  {
    name: 'long rows are digested',
    promise: 'The ledger does not keep copies of rows.',
    file: `${ROWS}/digest.ts`,
    find: 'const SHORT_BYTES = 120',
    replace: 'const SHORT_BYTES = 12_000',
    test: { file: TOGETHER, title: 'the version of a long row with a column of type "JSON" is short' },
  },
  {
    name: 'many rows are led by their keys',
    promise: 'Settling costs the same however large the table has become since it was analysed.',
    file: `${ROWS}/statements.ts`,
    find: "return first!.includes('VALUES CLAUSE') && second!.startsWith('SEARCH ')",
    replace: 'return first !== second',
    test: {
      file: TOGETHER,
      title: 'a table that was small when it was analysed is not read to its end for each of many',
    },
  },
  {
    name: 'rows that are done are looked at by their keys',
    promise: 'Settling costs the same however large the table has become since it was analysed.',
    file: `${ROWS}/statements.ts`,
    find: `WHERE \${isRow('k.value')}) LIMIT 1`,
    replace: `WHERE +(\${isRow('k.value')})) LIMIT 1`,
    test: { file: ROWS_TEST, title: `${NO_SCAN} one column, analysed with 1 rows` },
  },
  {
    name: 'rows are found by their keys',
    promise: 'Claiming costs the same however large the table has become since it was analysed.',
    file: `${ROWS}/statements.ts`,
    find: "      .startsWith('SEARCH ')\n    return this.#findsByKey",
    replace: "      .startsWith('S')\n    return this.#findsByKey",
    test: { file: ROWS_TEST, title: `${NO_SCAN} one column, analysed with 1 rows` },
  },
  {
    name: 'what undoes our own statements is kept in memory',
    promise: 'A drain writes what it has to.',
    file: 'src/store/sqlite/file/writer.ts',
    find: "? 'file' : 'memory'",
    replace: "? 'file' : 'file'",
    test: {
      file: 'test/store/sqlite/undo.test.ts',
      title: 'what we write ourselves is undone from memory, what a user writes from a file',
    },
  },
  {
    name: 'who waits for the lock is told',
    promise: 'Processes that share a file hand its lock over without asking for it again and again.',
    file: 'src/store/sqlite/file/lock-notifier.ts',
    find: '    touch(this.#file)\n',
    replace: '',
    test: {
      file: 'test/store/sqlite/lock-notifier.test.ts',
      title: 'who waits for the lock hears of its end from others who had to wait',
    },
  },
  {
    name: 'a store hears where others are',
    promise: 'Processes that work on one table do not walk over what the others hold.',
    file: `${ROWS}/discovery-cache.ts`,
    find: '    known.hand.hear(row.position)\n',
    replace: '',
    test: {
      file: TOGETHER,
      title: 'a store goes on behind what another has claimed, and does not walk over it',
    },
  },
  {
    name: 'another declaration begins anew',
    promise: 'A position of another key never reaches a statement.',
    file: 'src/store/scripts/rows/discoveries.ts',
    find: ', position = NULL',
    replace: '',
    test: {
      file: TOGETHER,
      title: 'a store goes on behind what another has claimed, and does not walk over it',
    },
  },
  ...(['sqlite', 'postgres'] as const).map((store) => ({
    name: `${store}: a crash is shown on another row`,
    promise: 'A worker that crashes on everything is found out before a row is put aside.',
    ...(store === 'sqlite'
      ? {
          file: `${ROWS}/claim.ts`,
          find: 'keys.filter((key) => !avoided.includes(key))',
          replace: 'keys',
        }
      : {
          file: 'src/store/postgres/rows/claim-sql.ts',
          find: 'AND l.row_key <> ALL($5::text[])',
          replace: 'AND (true OR l.row_key <> ALL($5::text[]))',
        }),
    test: {
      file: `test/store/${store}.conformance.test.ts`,
      title: 'a worker that would rather show on another row that it is broken is not given the same',
    },
  })),
  {
    name: 'every source is asked before a worker gets what it crashed on',
    promise:
      'A worker that crashes on everything is found out before a row is put aside, if it has tasks as well.',
    file: 'src/worker/isolation/cautious-start.ts',
    find: 'if (this.#exhausted.size === this.#sources)',
    replace: 'if (this.#exhausted.size > 0)',
    test: { file: PROBATION, title: 'nor before the worker has asked for tasks, too' },
  },
  {
    name: 'suspects are asked for before a worker gets what it crashed on',
    promise: 'A worker that crashes on everything is found out before a row is put aside.',
    file: 'src/worker/isolation/cautious-start.ts',
    find: '!want?.empty',
    replace: 'want === null',
    test: {
      file: PROBATION,
      title: 'that there is another one shows only when suspects are asked for',
    },
  },
]
