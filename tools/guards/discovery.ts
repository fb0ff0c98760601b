import type { Guard } from './guard.ts'

const CONFORMANCE = 'test/store/sqlite.conformance.test.ts'
const TOGETHER = 'test/store/sqlite/rows-together.test.ts'
const ROWS = 'src/store/sqlite/rows'

/** What keeps the promises about work found in the user's own tables. */
export const DISCOVERY: readonly Guard[] = [
  {
    name: 'settling a row proves its claim',
    promise: 'A worker that woke up too late changes no row.',
    file: `${ROWS}/held.ts`,
    find: 'row_key = ? AND fence = ? AND session = ?',
    replace: 'row_key = ? AND (fence = ? OR 1) AND (session = ? OR 1)',
    test: { file: CONFORMANCE, title: 'settling rows > a claim that is not ours any more writes nothing' },
  },
  {
    name: 'settling many rows proves each claim',
    promise: 'A worker that woke up too late changes no row, however many it hands in.',
    file: `${ROWS}/statements.ts`,
    find: `AND c.fence = \${fence} AND c.session = @session)\`\n    const known`,
    replace: `AND \${fence} = \${fence} AND @session = @session)\`\n    const known`,
    test: { file: CONFORMANCE, title: 'settling rows > late ones, handed in together, write nothing' },
  },
  {
    name: 'an edited row is not done',
    promise: 'A row that changed while it was being worked on stays to be done.',
    file: `${ROWS}/settle.ts`,
    find: "if (version !== held.version && outcome.kind !== 'later') {",
    replace: "if (version === '' && outcome.kind !== 'later') {",
    test: {
      file: CONFORMANCE,
      title: 'settling rows > a row that was edited meanwhile stays to be done (without a version column)',
    },
  },
  {
    name: 'an edited row among many is not done',
    promise: 'A row that changed while it was being worked on stays to be done, whoever is settled with it.',
    file: `${ROWS}/statements.ts`,
    find: `AND +\${eligible} AND \${version} = (\n`,
    replace: `AND +\${eligible} AND '' <> (\n`,
    test: {
      file: CONFORMANCE,
      title: 'settling rows > one among many that was edited is not done with them',
    },
  },
  {
    name: 'only values that all have are bound once',
    promise: 'Each row gets the values that its own done returned.',
    file: `${ROWS}/complete-batch.ts`,
    find: '!isAlike(values, first.values)',
    replace: 'values.length === 0',
    test: {
      file: TOGETHER,
      title: 'rows that are handed in together, with their own values, are stored as each would be alone',
    },
  },
  {
    name: 'only a fence that all have is bound once',
    promise: 'Rows of several claims are handed in together, not one by one.',
    file: `${ROWS}/complete-batch.ts`,
    find: 'fence !== first.fence',
    replace: 'fence === 0',
    test: { file: TOGETHER, title: 'rows of several claims go in together, with the same values' },
  },
  {
    name: 'rows that are claimed together are told apart by their attempts',
    promise: 'A row that fails is put aside after its attempts, whoever is claimed with it.',
    file: `${ROWS}/claim.ts`,
    find: 'Map.groupBy(some, attemptsOf)',
    replace: 'Map.groupBy(some, () => attemptsOf(some[0]!))',
    test: { file: CONFORMANCE, title: 'rows that are claimed together keep their own attempts' },
  },
  {
    name: 'blobs are told by their type, not by an order of the app’s own',
    promise: 'A column whose order only the app knows does no harm.',
    file: `${ROWS}/digest.ts`,
    find: ' COLLATE BINARY',
    replace: '',
    test: {
      file: TOGETHER,
      title: 'rows with a column whose order only the app knows are compared all the same',
    },
  },
  {
    name: 'done values that leave the row eligible are a failure',
    promise: 'No row is found and done again and again.',
    file: `${ROWS}/settle.ts`,
    find: 'return isEligible(db, known, held.key)',
    replace: "return held.key === ''",
    test: {
      file: CONFORMANCE,
      title: 'settling rows > values that leave the row eligible are a failure, and nothing is written',
    },
  },
  {
    name: 'each of many is seen to be done',
    promise: 'No row is found and done again and again, whoever is settled with it.',
    file: `${ROWS}/complete-batch.ts`,
    find: 'if (db.scalar(known.statements.eligibleAmong).get({ keys }) !== undefined) return false',
    replace: '',
    test: {
      file: CONFORMANCE,
      title: 'settling rows > one among many that is left eligible is not done with them',
    },
  },
  {
    name: 'what could not be settled is undone',
    promise: 'A row that fails in settling keeps nothing of its values, nor of the effects.',
    file: `${ROWS}/settle.ts`,
    find: "  if (problem !== null) db.sql('ROLLBACK TO gleaner_row').run()\n",
    replace: '',
    test: {
      file: CONFORMANCE,
      title: 'effects of rows > nothing of them is written when the row was edited, or is left eligible',
    },
  },
  {
    name: 'under a session that is over no row is settled or claimed',
    promise: 'A session ends once, and with it all it may do.',
    file: `${ROWS}/exchange.ts`,
    find: 'if (!isLive(db, session)) return { answer: sessionOver(exchange), held: [], freed: false }',
    replace: '',
    test: {
      file: CONFORMANCE,
      title: 'settling rows > under a session that is over nothing is written, nor claimed',
    },
  },
  {
    name: 'what the ledger keeps back is not claimed',
    promise: 'A row that failed backs off.',
    file: `${ROWS}/statements.ts`,
    find: 'l.blocked_until <= :now AND l.suspect = 0',
    replace: 'l.blocked_until <= :now + 1e15 AND l.suspect = 0',
    test: { file: CONFORMANCE, title: 'ledger of rows > a row that failed backs off while the others go on' },
  },
  {
    name: 'a look finds rows that were edited since they were put aside',
    promise: 'Editing a row clears its entry.',
    file: `${ROWS}/scan.ts`,
    find: 'const keys = reviewEntries(this.#db, one, one.review)',
    replace: 'const keys = reviewEntries(this.#db, one, one.review).slice(0, 0)',
    test: {
      file: CONFORMANCE,
      title: 'ledger of rows > an edited row is a new row, whatever kept it back (without a version column)',
    },
  },
  {
    name: 'the ledger speaks of the row as its dead worker left it',
    promise: 'A handler that writes its row and then kills its worker is quarantined, too.',
    file: `${ROWS}/held.ts`,
    find: 'writeEntry(db, discovery, key, version, entry, now)',
    replace: 'writeEntry(db, discovery, key, row.version, entry, now)',
    test: {
      file: CONFORMANCE,
      title:
        'crashes with rows > a handler that writes its row and then kills its worker is quarantined, too',
    },
  },
  {
    name: 'a handler that writes its row and fails is charged at last',
    promise: 'A handler that edits its own row does not run for ever.',
    file: `${ROWS}/settle.ts`,
    find: "  if (tooOften && outcome.kind === 'failed') return null\n",
    replace: '',
    test: {
      file: CONFORMANCE,
      title: 'settling rows > a handler that writes its row and then fails does not run for ever',
    },
  },
  {
    name: 'a look goes round',
    promise: 'A row that comes in before the place where a store looks is found.',
    file: `${ROWS}/scan-cursor.ts`,
    find: 'if (!rests && this.#position !== null) legs.push({ from: null, short: false })',
    replace: '',
    test: {
      file: CONFORMANCE,
      title: 'claiming rows > a row that comes in anywhere is found, whatever was found before',
    },
  },
  {
    name: 'a condition stays in its brackets',
    promise: 'A condition cannot reach beyond itself.',
    file: 'src/store/source.ts',
    find: "if (depth < 0) throw bad('a bracket is closed that was not opened', hint)",
    replace: '',
    test: {
      file: CONFORMANCE,
      title:
        'planning rows > a condition that leaves its brackets is refused, with the real columns where that helps',
    },
  },
  {
    name: 'a column that is not there pauses',
    promise: 'A mistake in `done` costs no row an attempt.',
    file: `${ROWS}/settle.ts`,
    find: 'if (wrong !== null) return paused(to, wrong)',
    replace: '',
    test: {
      file: CONFORMANCE,
      title:
        'settling rows > a column that is not there among the values pauses the discovery, and costs no attempt',
    },
  },
  {
    name: 'the index to walk is named',
    promise: 'A claim costs the same although most rows needed work when the planner last looked.',
    file: `${ROWS}/shape.ts`,
    find: 'return index === null ? plain : sourceSql(source, shape, index)',
    replace: 'return index === null ? plain : sourceSql(source, shape, null)',
    test: {
      file: 'test/store/sqlite/rows.test.ts',
      title: 'statistics of a time when most rows needed work do not mislead',
    },
  },
  {
    name: 'suspects are found by their index',
    promise: 'A claim costs the same with 100 000 rows in the ledger.',
    file: `${ROWS}/claim.ts`,
    find: ' INDEXED BY gleaner_ledger_suspect',
    replace: '',
    test: { file: 'test/store/sqlite/rows.test.ts', title: 'suspects are looked for among suspects alone' },
  },
  {
    name: 'what undoes everything fails alone',
    promise: 'A row whose values break a foreign key at the commit does not keep all others from being done.',
    file: `${ROWS}/settle-single.ts`,
    find: 'if (exchange.outcomes.length === 0 || !isOfARow(error)) throw error',
    replace: 'throw error',
    test: {
      file: 'test/store/sqlite/rows.test.ts',
      title: 'a foreign key that is checked at the commit fails its row alone',
    },
  },
]
