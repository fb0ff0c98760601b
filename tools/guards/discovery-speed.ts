import type { Guard } from './guard.ts'

const ROWS = 'src/store/sqlite/rows'
const TOGETHER = 'test/store/sqlite/rows-together.test.ts'

/** What keeps rows fast, and right although they are fast. */
export const DISCOVERY_SPEED: readonly Guard[] = [
  {
    name: 'many rows that go in one by one prove their claims',
    promise:
      'A worker that woke up too late changes no row, however many it hands in, and whatever their values.',
    file: `${ROWS}/wording.ts`,
    find: 'AND fence = @fence AND session = @session)',
    replace: 'AND (fence = @fence OR 1) AND (session = @session OR 1))',
    test: { file: TOGETHER, title: 'late ones whose values go in one by one write nothing either' },
  },
  {
    name: 'blobs are digested',
    promise: 'Any edit of a row is an edit.',
    file: `${ROWS}/digest.ts`,
    find: ` AND \${noBlobs} THEN`,
    replace: ` AND (1 OR \${noBlobs}) THEN`,
    test: { file: TOGETHER, title: 'the version of a row tells any two values apart, short or long' },
  },
  {
    name: 'long rows are digested',
    promise: 'The ledger does not keep copies of rows.',
    file: `${ROWS}/digest.ts`,
    find: 'const SHORT_BYTES = 120',
    replace: 'const SHORT_BYTES = 12_000',
    test: { file: TOGETHER, title: 'the version of a row tells any two values apart, short or long' },
  },
  {
    name: 'fractions are bound, not read from JSON',
    promise: 'A row holds exactly what `done` returned.',
    file: `${ROWS}/values.ts`,
    find: "if (typeof value === 'number') return Number.isSafeInteger(value) ? value : undefined",
    replace: "if (typeof value === 'number') return value",
    test: { file: TOGETHER, title: 'values that are handed in together are stored as each would be alone' },
  },
  {
    name: 'many rows are led by their keys',
    promise: 'Settling costs the same however large the table has become since it was analysed.',
    file: `${ROWS}/wording.ts`,
    find: "isLed = steps[0]!.detail.startsWith('SCAN json_each') && steps[1]!.detail.startsWith('SEARCH ')",
    replace: 'isLed = steps.length > 0',
    test: {
      file: TOGETHER,
      title: 'a table that was small when it was analysed is not read to its end for each of many',
    },
  },
  {
    name: 'a store hears where others are',
    promise: 'Processes that work on one table do not walk over what the others hold.',
    file: `${ROWS}/book.ts`,
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
    file: `${ROWS}/plan.ts`,
    find: ', position = NULL',
    replace: '',
    test: {
      file: TOGETHER,
      title: 'a store goes on behind what another has claimed, and does not walk over it',
    },
  },
]
