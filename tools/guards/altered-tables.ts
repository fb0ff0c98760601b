import type { Guard } from './guard.ts'

const SQLITE = 'test/store/sqlite.conformance.test.ts'
const POSTGRES = 'test/store/postgres.conformance.test.ts'

/** What a table that is altered while its rows are worked on must not break. */
export const ALTERED_TABLES: readonly Guard[] = [
  {
    name: 'altered tables: rows in flight are given back when their table goes',
    promise: 'Nothing stays claimed for ever.',
    file: 'src/store/sqlite/rows/settle.ts',
    find: `    endClaim(db, discovery, key)
    return outcome.kind === 'returned' ? BACK_AT_ONCE`,
    replace: `    return outcome.kind === 'returned' ? BACK_AT_ONCE`,
    test: {
      file: SQLITE,
      title:
        'altering tables > when its table is dropped, rows in flight are given back and the discovery says why it is paused',
    },
  },
  {
    name: 'altered tables: a completion is tried again by what its table is like now',
    promise: 'Dropping a column that a discovery does not use disturbs nothing.',
    file: 'src/store/postgres/rows/settle-batch.ts',
    find: '(mayBeOutdated && isPerhapsAltered(error))',
    replace: 'false',
    test: {
      file: POSTGRES,
      title:
        'altering tables > when an unused column is dropped, rows in flight are handed in and the discovery goes on',
    },
  },
  {
    name: 'altered tables: a failure is judged by what its table is like now',
    promise: 'Dropping a column that a discovery does not use does not pause it.',
    file: 'src/store/postgres/rows/settle-ended.ts',
    find: 'if (!again && isPerhapsAltered(error)) throw new Altered(name)',
    replace: '',
    test: {
      file: POSTGRES,
      title:
        'altering tables > when an unused column is renamed, rows in flight are handed in and the discovery goes on',
    },
  },
]
