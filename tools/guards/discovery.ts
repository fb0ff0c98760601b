import type { Guard } from './guard.ts'

/** Discovery never lies. */
export const DISCOVERY: readonly Guard[] = [
  {
    name: 'settling a row proves its claim',
    promise: 'A worker that woke up too late changes no row.',
    file: 'src/store/sqlite/rows/held.ts',
    find: 'row_key = ? AND fence = ? AND session = ?',
    replace: 'row_key = ? AND (fence = ? OR 1) AND (session = ? OR 1)',
    test: {
      file: 'test/store/sqlite.conformance.test.ts',
      title: 'settling rows > a claim that is not ours any more writes nothing',
    },
  },
  {
    name: 'settling many rows proves each claim',
    promise: 'A worker that woke up too late changes no row, however many it hands in.',
    file: 'src/store/sqlite/rows/statements.ts',
    find: 'AND c.fence = ${fence} AND c.session = @session)`\n    const known',
    replace: 'AND ${fence} = ${fence} AND @session = @session)`\n    const known',
    test: {
      file: 'test/store/sqlite.conformance.test.ts',
      title: 'settling rows > late ones, handed in together, write nothing',
    },
  },
  {
    name: 'an edited row is not done',
    promise: 'A row that changed while it was being worked on stays to be done.',
    file: 'src/store/sqlite/rows/settle.ts',
    find: 'const isEdited = version !== held.version',
    replace: "const isEdited = version === ''",
    test: {
      file: 'test/store/sqlite.conformance.test.ts',
      title: 'settling rows > a row that was edited meanwhile stays to be done (without a version column)',
    },
  },
  {
    name: 'an edited row among many is not done',
    promise: 'A row that changed while it was being worked on stays to be done, whoever is settled with it.',
    file: 'src/store/sqlite/rows/statements.ts',
    find: 'AND +${eligible} AND ${version} = (\n',
    replace: "AND +${eligible} AND '' <> (\n",
    test: {
      file: 'test/store/sqlite.conformance.test.ts',
      title: 'settling rows > one among many that was edited is not done with them',
    },
  },
  {
    name: 'done values that leave the row eligible are a failure',
    promise: 'No row is found and done again and again.',
    file: 'src/store/sqlite/rows/settle.ts',
    find: 'return isEligible(db, known, held.key)',
    replace: "return held.key === ''",
    test: {
      file: 'test/store/sqlite.conformance.test.ts',
      title: 'settling rows > values that leave the row eligible are a failure, and nothing is written',
    },
  },
  {
    name: 'each of many is seen to be done',
    promise: 'No row is found and done again and again, whoever is settled with it.',
    file: 'src/store/sqlite/rows/complete-batch.ts',
    find: 'if (db.scalar(known.statements.eligibleAmong).get({ keys }) !== undefined) return false',
    replace: '',
    test: {
      file: 'test/store/sqlite.conformance.test.ts',
      title: 'settling rows > one among many that is left eligible is not done with them',
    },
  },
  {
    name: 'what could not be settled is undone',
    promise: 'A row that fails in settling keeps nothing of its values, nor of the effects.',
    file: 'src/store/sqlite/rows/settle.ts',
    find: "  if (problem !== null) db.sql('ROLLBACK TO gleaner_row').run()\n",
    replace: '',
    test: {
      file: 'test/store/sqlite.conformance.test.ts',
      title: 'effects of rows > nothing of them is written when the row was edited, or is left eligible',
    },
  },
  {
    name: 'what the ledger keeps back is not claimed',
    promise: 'A row that failed backs off.',
    file: 'src/store/sqlite/rows/statements.ts',
    find: 'l.blocked_until <= :now AND l.suspect = 0',
    replace: 'l.blocked_until <= :now + 1e15 AND l.suspect = 0',
    test: {
      file: 'test/store/sqlite.conformance.test.ts',
      title: 'ledger of rows > a row that failed backs off while the others go on',
    },
  },
  {
    name: 'a condition stays in its brackets',
    promise: 'A condition cannot reach beyond itself.',
    file: 'src/store/source.ts',
    find: "if (depth < 0) throw bad('a bracket is closed that was not opened', hint)",
    replace: '',
    test: {
      file: 'test/store/sqlite.conformance.test.ts',
      title:
        'planning rows > a condition that leaves its brackets is refused, with the real columns where that helps',
    },
  },
  {
    name: 'postgres rows: settling proves its claim',
    promise: 'A worker that woke up too late changes no row.',
    file: 'src/store/postgres/rows/settle-sql.ts',
    find: 'AND c.fence = given."gleaner:fence" AND c.session + 0 = $1',
    replace: 'AND (c.fence = given."gleaner:fence" OR true) AND (c.session = $1 OR true)',
    test: {
      file: 'test/store/postgres.conformance.test.ts',
      title: 'settling rows > a claim that is not ours any more writes nothing',
    },
  },
  {
    name: 'postgres rows: nothing is settled under a session that is over',
    promise: 'A worker whose session was ended changes no row.',
    file: 'src/store/postgres/rows/claim-sql.ts',
    find: 'WHERE id = $1 AND ended_at IS NULL AND EXISTS (SELECT 1 FROM gleaner_free) FOR KEY SHARE',
    replace: 'WHERE id = $1 AND EXISTS (SELECT 1 FROM gleaner_free)',
    test: {
      file: 'test/store/postgres/row-races.test.ts',
      title: 'a session that ends while it claims and hands in leaves no claim behind',
    },
  },
  {
    name: 'postgres rows: an edited row is not done',
    promise: 'A row that changed while it was being worked on stays to be done.',
    file: 'src/store/postgres/rows/settle-sql.ts',
    find: '    AND ${source.same(',
    replace: '    AND true OR ${source.same(',
    test: {
      file: 'test/store/postgres.conformance.test.ts',
      title: 'settling rows > a row that was edited meanwhile stays to be done (without a version column)',
    },
  },
  {
    name: 'postgres rows: what done leaves eligible is a failure',
    promise: 'A row whose `done` values leave it eligible is a failure, not an endless loop.',
    file: 'src/store/postgres/rows/settle-sql.ts',
    find: "CASE WHEN still THEN ${schema}.refuse('the row is still eligible') END",
    replace: 'CASE WHEN still THEN NULL::boolean END',
    test: {
      file: 'test/store/postgres.conformance.test.ts',
      title: 'settling rows > values that leave the row eligible are a failure, and nothing is written',
    },
  },
  {
    name: 'postgres rows: one that cannot be written fails alone',
    promise: 'A broken constraint fails that row alone.',
    file: 'src/store/postgres/rows/settle-batch.ts',
    find: '    if (faultOf(error) === null) throw error\n    return null\n',
    replace: '    throw error\n',
    test: {
      file: 'test/store/postgres/row-settling.test.ts',
      title: 'a constraint that is checked at the end fails its row alone',
    },
  },
  {
    name: 'postgres rows: one claims at a time',
    promise: 'A row that somebody else has just done is not run again.',
    file: 'src/store/postgres/rows/preconditions.ts',
    find: '${isOpen} AND pg_catalog.pg_try_advisory_xact_lock(${turnKey(schema, mine)})',
    replace: '${isOpen} AND ${turnKey(schema, mine)} IS NOT NULL',
    test: {
      file: 'test/store/postgres/row-races.test.ts',
      title:
        'several stores that ask at the same time share the rows, each is done once, and nobody gives up early',
    },
  },
  {
    name: 'postgres rows: what was left out is looked at before there is nothing',
    promise: 'Every row that needs work is found.',
    file: 'src/store/postgres/rows/scan-cursor.ts',
    find: '        this.#heard = told\n        fromBeginning = false\n',
    replace: '        this.#heard = told\n',
    test: {
      file: 'test/store/postgres/row-walk.test.ts',
      title: 'who left something out to be where others are does not say that nothing is there',
    },
  },
  {
    name: 'postgres rows: a condition may not write',
    promise: 'A condition that writes is refused when the engine opens.',
    file: 'src/store/postgres/rows/validate.ts',
    find: "await ask('SET TRANSACTION READ ONLY')",
    replace: "await ask('SET TRANSACTION READ WRITE')",
    test: {
      file: 'test/store/postgres/row-finding.test.ts',
      title: 'a condition that writes is refused, also by a function of the app’s own',
    },
  },
  {
    name: 'discovery: a row that does not fit its schema never runs',
    promise: 'A row whose schema fails is put aside at once, with its reason.',
    file: 'src/worker/sources/rows.ts',
    find: 'schema === undefined ? row : ',
    replace: 'schema !== null ? row : ',
    test: {
      file: 'test/discovery/running.test.ts',
      title: 'because it does not fit its schema is quarantined at once, with the reason',
    },
  },
  {
    name: 'altered tables: rows in flight are given back when their table goes',
    promise: 'Nothing stays claimed for ever.',
    file: 'src/store/sqlite/rows/settle.ts',
    find: "    endClaim(db, discovery, key)\n    return outcome.kind === 'returned' ? BACK_AT_ONCE",
    replace: "    return outcome.kind === 'returned' ? BACK_AT_ONCE",
    test: {
      file: 'test/store/sqlite.conformance.test.ts',
      title:
        'altering tables > when its table is dropped, rows in flight are given back and the discovery says why it is paused',
    },
  },
]
