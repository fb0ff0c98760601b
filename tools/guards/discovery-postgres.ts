import type { Guard } from './guard.ts'

const ROWS = 'src/store/postgres/rows'
const CONFORMANCE = 'test/store/postgres.conformance.test.ts'
const SETTLING = 'test/store/postgres/row-settling.test.ts'
const FINDING = 'test/store/postgres/row-finding.test.ts'
const RACES = 'test/store/postgres/row-races.test.ts'
const WALK = 'test/store/postgres/row-walk.test.ts'
const WAKEUPS = 'test/store/postgres/row-wakeups.test.ts'

/** What keeps the promises about work found in the user's own tables, on PostgreSQL. */
export const DISCOVERY_POSTGRES: readonly Guard[] = [
  {
    name: 'postgres rows: settling proves its claim',
    promise: 'A worker that woke up too late changes no row.',
    file: `${ROWS}/settle-sql.ts`,
    find: 'AND c.fence = given."gleaner:fence" AND c.session + 0 = $1',
    replace: 'AND (c.fence = given."gleaner:fence" OR true) AND (c.session = $1 OR true)',
    test: { file: CONFORMANCE, title: 'settling rows > a claim that is not ours any more writes nothing' },
  },
  {
    name: 'postgres rows: nothing is settled under a session that is over',
    promise: 'A worker whose session was ended changes no row.',
    file: `${ROWS}/claim-sql.ts`,
    find: 'WHERE id = $1 AND ended_at IS NULL AND EXISTS (SELECT 1 FROM gleaner_free) FOR KEY SHARE',
    replace: 'WHERE id = $1 AND EXISTS (SELECT 1 FROM gleaner_free)',
    test: { file: RACES, title: 'a session that ends while it claims and hands in leaves no claim behind' },
  },
  {
    name: 'postgres rows: an edited row is not done',
    promise: 'A row that changed while it was being worked on stays to be done.',
    file: `${ROWS}/settle-sql.ts`,
    find: `    AND \${source.same(`,
    replace: `    AND true OR \${source.same(`,
    test: {
      file: CONFORMANCE,
      title: 'settling rows > a row that was edited meanwhile stays to be done (without a version column)',
    },
  },
  {
    name: 'postgres rows: what done leaves eligible is a failure',
    promise: 'A row whose `done` values leave it eligible is a failure, not an endless loop.',
    file: `${ROWS}/settle-sql.ts`,
    find: `CASE WHEN still THEN \${schema}.refuse('the row is still eligible') END`,
    replace: 'CASE WHEN still THEN NULL::boolean END',
    test: {
      file: CONFORMANCE,
      title: 'settling rows > values that leave the row eligible are a failure, and nothing is written',
    },
  },
  {
    name: 'postgres rows: a rescan is no edit',
    promise: 'Rescans that rewrite unchanged rows do no harm.',
    file: `${ROWS}/source.ts`,
    find: `\`\${then.version} = \${xmin} OR \${then.hash} = \${hash(of)}\``,
    replace: `\`\${then.version} = \${xmin} OR (\${then.hash} = \${hash(of)} AND false)\``,
    test: {
      file: SETTLING,
      title: 'a rescan that writes unchanged rows is no edit, nor are VACUUM FREEZE and VACUUM FULL',
    },
  },
  {
    name: 'postgres rows: a locked row does not hold up a batch',
    promise: 'What the app locks is not waited for by others.',
    file: `${ROWS}/services.ts`,
    find: '{ ...BACKGROUND, lockTimeoutMs: 250 }',
    replace: '{ ...BACKGROUND, lockTimeoutMs: 9_000 }',
    test: {
      file: SETTLING,
      title: 'a transaction of the app that locks rows in another order is never the one that is given up',
    },
  },
  {
    name: 'postgres rows: one that cannot be written fails alone',
    promise: 'A broken constraint fails that row alone.',
    file: `${ROWS}/settle-batch.ts`,
    find: '    if (faultOf(error) === null) throw error\n    return null\n',
    replace: '    throw error\n',
    test: { file: SETTLING, title: 'a constraint that is checked at the end fails its row alone' },
  },
  {
    name: 'postgres rows: one claims at a time',
    promise: 'A row that somebody else has just done is not run again.',
    file: `${ROWS}/preconditions.ts`,
    find: `\${isOpen} AND pg_catalog.pg_try_advisory_xact_lock(\${turnKey(schema, mine)})`,
    replace: `\${isOpen} AND \${turnKey(schema, mine)} IS NOT NULL`,
    test: {
      file: RACES,
      title:
        'several stores that ask at the same time share the rows, each is done once, and nobody gives up early',
    },
  },
  {
    name: 'postgres rows: others learn where the last large claim ended',
    promise: 'A process does not walk over what the others hold.',
    file: `${ROWS}/preconditions.ts`,
    find: 'CASE WHEN $10::boolean THEN',
    replace: 'CASE WHEN NOT $10::boolean THEN',
    test: {
      file: FINDING,
      title: 'a claim by a key of type integer reads what it takes, by the index of the user',
    },
  },
  {
    name: 'postgres rows: who heard where others are goes on from there',
    promise: 'Whatever others hold, the rows behind it are reached.',
    file: `${ROWS}/scan-cursor.ts`,
    find: '        this.#heard = told\n',
    replace: '',
    test: {
      file: WALK,
      title: 'who goes where others are passes what is kept back behind them once',
    },
  },
  {
    name: 'postgres rows: what was left out is looked at before there is nothing',
    promise: 'Every row that needs work is found.',
    file: `${ROWS}/scan-cursor.ts`,
    find: '        fromBeginning = false\n',
    replace: '',
    test: {
      file: WALK,
      title: 'who left something out to be where others are does not say that nothing is there',
    },
  },
  {
    name: 'postgres rows: a glance at the beginning leads nobody back there',
    promise: 'A process does not walk over what the others hold.',
    file: `${ROWS}/scan-cursor.ts`,
    find: 'this.#roundStep(wish, left, false)',
    replace: 'this.#roundStep(wish, left, true)',
    test: { file: WALK, title: 'what a glance at the beginning takes leads nobody back there' },
  },
  {
    name: 'postgres: every statement sees what was committed before it',
    promise: 'Who waited for a lock sees what happened meanwhile, whatever the default of the server is.',
    file: 'src/store/postgres/server/settings.ts',
    find: "'BEGIN ISOLATION LEVEL READ COMMITTED'",
    replace: "'BEGIN'",
    test: {
      file: RACES,
      title:
        'who waited for his turn sees what others took meanwhile, whatever the isolation of the server is',
    },
  },
  {
    name: 'postgres rows: who is in the way is no fault of the discovery',
    promise: 'A discovery is paused for faults of its own only.',
    file: `${ROWS}/faults.ts`,
    find: 'return fault !== null && !/^(40|55)/.test(fault)',
    replace: 'return fault !== null',
    test: {
      file: RACES,
      title: 'a turn that does not come is no fault of the discovery: it is told, and asked for again',
    },
  },
  {
    name: 'postgres rows: everything is sent at once',
    promise: 'A handler that blocks its process holds up nobody else.',
    file: 'src/store/postgres/server/pipeline.ts',
    find: 'connection.stream.write(Buffer.concat([...messages, SYNC]))',
    replace:
      "{\n      connection.stream.write(Buffer.concat([messages[0]!, serialize.flush()]))\n      connection.stream.once('data', () => connection.stream.write(Buffer.concat([...messages.slice(1), SYNC])))\n    }",
    test: {
      file: RACES,
      title: 'whoever is busy while a claim is under way holds up nobody: the server needs no more of him',
    },
  },
  {
    name: 'postgres rows: what is handed in is known to be held',
    promise: 'After a lost answer every row is done, and none is left claimed.',
    file: `${ROWS}/settle-apart.ts`,
    find: '[...holding, ...outcomes.map(({ id }) => id)]',
    replace: '[...holding]',
    test: { file: RACES, title: 'a commit answer: every row is done, and none is left claimed' },
  },
  {
    name: 'postgres rows: what was handed in before the session ended is done',
    promise: 'A worker is told what became of each row.',
    file: `${ROWS}/exchange.ts`,
    find: '{ ...sessionOver(exchange), answers: all }',
    replace: 'sessionOver(exchange)',
    test: {
      file: RACES,
      title: 'who is ended after it handed in, while it waits for its turn to claim, hears that both is so',
    },
  },
  {
    name: 'postgres rows: suspects go first',
    promise: 'What may have taken a worker down is run alone.',
    file: `${ROWS}/scan.ts`,
    find: 'suspectsFirst: this.#want.empty',
    replace: 'suspectsFirst: false',
    test: {
      file: CONFORMANCE,
      title: 'crashes with rows > when several were running nobody is charged; each is next run alone',
    },
  },
  {
    name: 'postgres rows: suspects go first, also at a glance',
    promise: 'What may have taken a worker down is run alone.',
    file: `${ROWS}/preconditions.ts`,
    find: "suspects: 'coalesce(first <= now, false)'",
    replace: "suspects: 'coalesce(first <= now, false) AND false'",
    test: {
      file: CONFORMANCE,
      title:
        'crashes with rows > what crashed elsewhere is run alone by the next who is free, though other rows wait',
    },
  },
  {
    name: 'postgres rows: what a glance sees coming is looked at',
    promise: 'A row whose time has come is tried again.',
    file: `${ROWS}/settle-batch.ts`,
    find: " else if (along.depth === 'thorough' || !seen.ripe) return seen\n",
    replace: ' else return seen\n',
    test: {
      file: CONFORMANCE,
      title:
        'crashes with rows > what crashed elsewhere is run alone by the next who is free, though other rows wait',
    },
  },
  {
    name: 'postgres rows: a condition may not write',
    promise: 'A condition that writes is refused when the engine opens.',
    file: `${ROWS}/validate.ts`,
    find: "await ask('SET TRANSACTION READ ONLY')",
    replace: "await ask('SET TRANSACTION READ WRITE')",
    test: { file: FINDING, title: 'a condition that writes is refused, also by a function of the app’s own' },
  },
  {
    name: 'postgres rows: words of the app are not ours',
    promise: 'A condition means what it says.',
    file: 'src/store/postgres/server/database.ts',
    find: 'return pipeline.add({ name, text, values',
    replace: "return pipeline.add({ name, text: text.replaceAll('gleaner.', 'x.'), values",
    test: { file: FINDING, title: 'words of a condition that look like ours are the app’s' },
  },
  {
    name: 'postgres rows: nothing is taken for nothing too early',
    promise: 'Every row that needs work is found.',
    file: `${ROWS}/scan-cursor.ts`,
    find: 'isOver: round.found === 0 && round.wakes === wish.wakes',
    replace: 'isOver: round.wakes === wish.wakes',
    test: { file: WALK, title: 'what comes back while a round finds others is not taken for nothing' },
  },
  {
    name: 'postgres rows: what is kept back costs a claim nothing',
    promise: 'A claim costs the same behind 100 thousand that are kept back.',
    file: `${ROWS}/scan-cursor.ts`,
    find: 'else this.#front = found >= count ? place : (last ?? place ?? behind)',
    replace: 'else this.#front = null',
    test: { file: WALK, title: 'behind 100 000 that are kept back, a claim looks at what it takes' },
  },
  {
    name: 'postgres rows: what we write is no news',
    promise: 'Workers do not wake each other with what they have done.',
    file: 'src/store/postgres/server/settings.ts',
    find: "['gleaner_rows.quiet', 'on']",
    replace: "['gleaner_rows.quiet', 'off']",
    test: { file: WAKEUPS, title: 'what Gleaner itself writes to the table is told to nobody' },
  },
  {
    name: 'discovery: the server is asked whether anything was written',
    promise: 'Without a trigger, a row that the app writes is found within a second.',
    file: 'src/store/postgres/rows/polling.ts',
    find: 'if (moved && !this.#closed) this.#wake()',
    replace: '',
    test: {
      file: 'test/store/postgres/row-wakeups.test.ts',
      title: 'without one it is found all the same, within a second',
    },
  },
  {
    name: 'discovery: what was written before the server was first asked is told of',
    promise: 'Without a trigger, a row that the app writes is found within a second.',
    file: 'src/store/postgres/rows/polling.ts',
    find: 'const moved = this.#over !== over',
    replace: 'const moved = this.#over !== null && this.#over !== over',
    test: {
      file: 'test/store/postgres/row-wakeups.test.ts',
      title:
        'the first time the server is asked whether anything was written counts as news: a worker may have looked too early',
    },
  },
  {
    name: 'postgres rows: an entry of the ledger is found by its key',
    promise: 'Nothing gets slower because many rows are kept back, also before the planner knows of them.',
    file: `${ROWS}/settle-sql.ts`,
    find: 'AND l.row_key = given."gleaner:key")',
    replace: 'AND l.row_key || NULL IS NOT DISTINCT FROM given."gleaner:key")',
    test: {
      file: FINDING,
      title:
        'what the ledger remembers of rows that are handed in is found by their keys, though it was empty when that was planned',
    },
  },
  {
    name: 'postgres rows: who only hands in hears that its session is over',
    promise: 'A worker whose session was ended is told so.',
    file: `${ROWS}/preconditions.ts`,
    find: 'live: rows![0]?.[0] === true',
    replace: 'live: rows!.length < 2',
    test: {
      file: CONFORMANCE,
      title: 'settling rows > under a session that is over nothing is written, nor claimed',
    },
  },
  ...[
    {
      what: 'paused',
      find: `\${mine} <> ALL(paused)`,
      title: 'managing rows > a paused discovery gives nothing; what is held goes on',
    },
    {
      what: 'everything is paused',
      find: 'NOT everything',
      title: 'managing rows > a pause of everything is a pause of rows, too',
    },
    {
      what: 'planned anew',
      find: 'version = $5::bigint',
      title: 'planning rows > what is planned anew holds at once for who works already',
    },
    {
      what: 'altered',
      find: 'relnatts = $7::int',
      title: 'planning rows > a column that comes later is part of the row',
    },
  ].map(({ what, find, title }) => ({
    name: `postgres rows: a claim sees what is so (${what})`,
    promise: 'Nothing is claimed of what was paused, planned anew or altered before.',
    file: `${ROWS}/preconditions.ts`,
    find,
    replace: `(true OR ${find})`,
    test: { file: CONFORMANCE, title },
  })),
  ...(['kept', 'suspect'] as const).map((index) => ({
    name: `postgres rows: the ledger is asked by its own index (${index})`,
    promise: 'Nothing gets slower because many rows are kept back, also before the planner knows of them.',
    file: 'src/store/postgres/rows/ledger-sql.ts',
    find: `\${entry}.discovery || ' ${index}' = \${discovery} || ' ${index}'`,
    replace: `\${entry}.discovery = \${discovery}`,
    test: {
      file: 'test/store/postgres/row-finding.test.ts',
      title:
        'the ledger is asked by its indexes, each for its own, though it was empty when that was planned',
    },
  })),
  {
    name: 'discovery: an index that was made is not offered again',
    promise:
      'IndexAdvice that was followed is not repeated, also where the condition cannot stand in an index.',
    file: 'src/store/postgres/rows/index-advice.ts',
    find: '...(isHelped || !isOther ? [] : [`',
    replace: '...(!isOther ? [] : [`',
    test: {
      file: 'test/store/postgres/row-finding.test.ts',
      title: 'a condition that hangs on the moment is offered an index by what else it asks',
    },
  },
  {
    name: 'discovery: rows that are handed in lead to their claims',
    promise: 'Handing in costs the same however many rows a worker holds.',
    file: 'src/store/postgres/rows/settle-sql.ts',
    find: `WHERE ctid = ANY(ARRAY(SELECT "gleaner:at" FROM gleaner_ours))`,
    replace: `USING gleaner_ours o WHERE claims.row_key = o."gleaner:key"`,
    test: {
      file: 'test/store/postgres/row-finding.test.ts',
      title: 'rows that are handed in lead to their claims, however many the session holds',
    },
  },
]
