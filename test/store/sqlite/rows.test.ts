import Database from 'better-sqlite3'
import { expect, onTestFinished, test } from 'vitest'
import type { DiscoverySource } from '../../../src/store/ports/rows.ts'
import { loadDriver } from '../../../src/store/sqlite/drivers/load.ts'
import { Statements } from '../../../src/store/sqlite/file/statements.ts'
import { migrations } from '../../../src/store/sqlite/migrations/index.ts'
import { waitingSuspects } from '../../../src/store/sqlite/rows/claim.ts'
import { registerDigest } from '../../../src/store/sqlite/rows/digest.ts'
import type { KnownDiscovery } from '../../../src/store/sqlite/rows/discovery-cache.ts'
import { findBehind, placeOfRow, rowOf } from '../../../src/store/sqlite/rows/find.ts'
import { missingIndex } from '../../../src/store/sqlite/rows/index-advice.ts'
import { shapeOf, validateSource } from '../../../src/store/sqlite/rows/shape.ts'
import { DiscoveryStatements } from '../../../src/store/sqlite/rows/statements.ts'
import { fileSource, rowWorker } from '../../conformance/row-worker.ts'
import { World } from '../../conformance/world.ts'
import { openSqliteDatabase } from '../sqlite-database.ts'

const WHERE = 'needs = 1 AND valid = 1'

function source(some: Partial<DiscoverySource> = {}): DiscoverySource {
  return {
    name: 'tag',
    table: 'files',
    key: ['id'],
    where: WHERE,
    version: null,
    orderBy: null,
    maxAttempts: 3,
    crashLimit: 3,
    ...some,
  }
}

/** Half of them need work. */
function withFiles(count: number): Statements {
  const raw = new Database(':memory:')
  onTestFinished(() => void raw.close())
  registerDigest(raw)
  for (const { sql } of migrations) raw.exec(sql)
  raw.exec(
    'CREATE TABLE files (id INTEGER PRIMARY KEY, path TEXT NOT NULL, needs INTEGER, valid INTEGER, edited INTEGER)',
  )
  raw.exec(`WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ${count})
            INSERT INTO files SELECT i, 'f' || i, i % 2, 1, i FROM n`)
  return new Statements(raw, loadDriver())
}

function advice(db: Statements, some: Partial<DiscoverySource> = {}): string | null {
  return missingIndex(db, source(some), shapeOf(db, 'files'))
}

function planOf(db: Statements, sql: string): string[] {
  const plan = db.raw.prepare(`EXPLAIN QUERY PLAN ${sql}`).all({
    ...{
      name: '',
      key: '',
      position: '1',
      now: 0,
      count: 1,
      examined: 1,
      limit: 1,
      skip: 0,
      fence: 1,
      session: 1,
      keys: '[]',
    },
  })
  return (plan as { detail: string }[]).map(({ detail }) => detail)
}

const KEYS: [string, Partial<DiscoverySource>][] = [
  ['one column', {}],
  ['several columns', { key: ['id', 'path'] }],
  ['an order', { orderBy: 'edited DESC' }],
]

test.each(KEYS.flatMap(([key, some]) => [1, 2_000].map((analysed) => [key, analysed, some] as const)))(
  'no statement of a discovery scans a table of ours, nor the user’s, with a key of %s, analysed with %i rows',
  (_, analysed, some) => {
    const db = withFiles(analysed)
    db.raw.exec('CREATE UNIQUE INDEX both ON files (id, path)')
    db.raw.exec(advice(db, some)!)
    db.raw.exec('ANALYZE')
    const statements = new DiscoveryStatements(validateSource(db, source(some)))
    const texts = [
      ...(['beginning', 'behind'] as const).flatMap((from) => [
        statements.findsByKey(db) ? statements.find(from) : statements.findKeys(from),
        statements.isAny(from),
        statements.countNext(from),
        statements.placeOfNext(from),
      ]),
      statements.findRow(),
      statements.eligibleAmong,
      statements.versionOf,
      statements.isEligible,
    ]
    for (const text of texts) {
      for (const step of planOf(db, text)) {
        if (!step.startsWith('SCAN')) continue
        // What was found or given already, and a partial index that holds nothing else.
        expect(step).toMatch(
          /^SCAN (e|k VIRTUAL TABLE INDEX 1:|\(subquery-\d+\)|main\.files USING (COVERING )?INDEX files_tag)$/,
        )
      }
    }
  },
)

test('rows of a table that was small when it was analysed are found one by one, in their order', () => {
  const db = withFiles(1)
  const some = { orderBy: 'edited DESC' }
  db.raw.exec(advice(db, some)!)
  db.raw.exec('ANALYZE')
  db.raw.exec(`INSERT INTO files VALUES (2, 'two', 1, 1, 20), (3, 'three', 1, 1, 30)`)
  const rows = validateSource(db, source(some))
  const known = { name: 'tag', rows, statements: new DiscoveryStatements(rows) } as KnownDiscovery
  expect(known.statements.findsByKey(db)).toBe(false)
  const found = findBehind(db, known, null, { count: 2, now: 0 })
  expect(found.map((row) => [row[0], placeOfRow(row)])).toEqual([
    ['3', '[30,3]'],
    ['2', '[20,2]'],
  ])
  expect(found.map((row) => rowOf(rows, row).path)).toEqual(['three', 'two'])
})

test('statistics of a time when most rows needed work do not mislead', () => {
  const db = withFiles(20_000)
  db.raw.exec(advice(db)!)
  db.raw.exec('ANALYZE')
  const [step] = planOf(db, new DiscoveryStatements(validateSource(db, source())).countNext('behind')).filter(
    (one) => one.includes('files'),
  )
  expect(step).toBe('SEARCH main.files USING COVERING INDEX files_tag (id>?)')
})

test('suspects are looked for among suspects alone', () => {
  const db = withFiles(10)
  const asked: string[] = []
  const scalar = (sql: string) => {
    asked.push(sql)
    return db.scalar(sql)
  }
  const watched = { scalar } as unknown as Statements
  waitingSuspects(watched, 'tag', 0, 1)
  const plan = db.raw.prepare(`EXPLAIN QUERY PLAN ${asked[0]}`).all('tag', 0, 1) as { detail: string }[]
  expect(plan[0]?.detail).toContain('gleaner_ledger_suspect')
})

test('an index by the columns of the condition serves as well', () => {
  const db = withFiles(100)
  expect(advice(db)).toBe(`CREATE INDEX "files_tag" ON "files" ("id") WHERE ${WHERE}`)
  db.raw.exec('CREATE INDEX own ON files (needs, valid)')
  expect(advice(db)).toBe(null)
})

test('a condition that hangs on the moment is offered an index by what else it asks', () => {
  const db = withFiles(100)
  const where = 'edited < unixepoch() AND needs = 1'
  const offer = 'CREATE INDEX "files_tag" ON "files" ("needs", "id")'
  expect(advice(db, { where })).toBe(offer)
  db.raw.exec(offer)
  expect(advice(db, { where })).toBe(null)
})

test('what no index would help is offered none', () => {
  expect(advice(withFiles(100), { where: 'edited < unixepoch()' })).toBe(null)
})

test('an index that is dropped while rows are worked on is not missed', async () => {
  const database = await openSqliteDatabase()
  onTestFinished(() => database.destroy())
  const world = new World(database, await database.open())
  const { tables } = database
  await tables.run(
    'CREATE TABLE files (id integer PRIMARY KEY, needs integer NOT NULL, valid integer NOT NULL)',
  )
  await tables.run('CREATE INDEX own ON files (needs, valid)')
  await tables.run('INSERT INTO files VALUES (1, 1, 1), (2, 1, 1)')
  await world.store.rows.planDiscoveries([fileSource(world)])
  const worker = await rowWorker(world)
  await worker.complete(await worker.claimOne(), { needs: 0 })
  await tables.run('DROP INDEX own')
  expect(await worker.complete(await worker.claimOne(), { needs: 0 })).toEqual({ kind: 'done' })
})

test('a value that SQLite cannot hold fails its row alone', async () => {
  const database = await openSqliteDatabase()
  onTestFinished(() => database.destroy())
  const world = new World(database, await database.open())
  await database.tables.run('CREATE TABLE files (id integer PRIMARY KEY, needs integer, valid integer, data)')
  await database.tables.run('INSERT INTO files VALUES (1, 1, 1, NULL), (2, 1, 1, NULL), (3, 1, 1, NULL)')
  await world.store.rows.planDiscoveries([fileSource(world)])
  const worker = await rowWorker(world)
  const [one, two, three] = await worker.claim(3)
  expect(await worker.complete(one!, { needs: 0, data: { a: 1 } as never })).toMatchObject({ kind: 'failed' })
  expect(await worker.complete(two!, { needs: 0, data: new Uint8Array([1, 2]) })).toEqual({ kind: 'done' })
  expect(await worker.complete(three!, { needs: 0, data: 1_700_000_000_000 })).toEqual({ kind: 'done' })
  const rows = await database.tables.rows('SELECT typeof(data) AS type FROM files ORDER BY id')
  expect(rows.map(({ type }) => type)).toEqual(['null', 'blob', 'integer'])
})

test.each([
  [
    'a foreign key that is checked at the commit',
    'genre integer REFERENCES genres (id) DEFERRABLE INITIALLY DEFERRED',
    'CREATE TABLE genres (id integer PRIMARY KEY)',
  ],
  [
    'a trigger that rolls everything back',
    'genre integer',
    `CREATE TRIGGER no AFTER UPDATE ON files WHEN new.genre = 7 BEGIN SELECT RAISE(ROLLBACK, 'no genre 7'); END`,
  ],
])('%s fails its row alone', async (_, column, more) => {
  const database = await openSqliteDatabase()
  onTestFinished(() => database.destroy())
  const world = new World(database, await database.open())
  await database.tables.run(
    `CREATE TABLE files (id integer PRIMARY KEY, needs integer, valid integer, ${column})`,
  )
  await database.tables.run(more)
  await database.tables.run('INSERT INTO files VALUES (1, 1, 1, NULL), (2, 1, 1, NULL), (3, 1, 1, NULL)')
  await world.store.rows.planDiscoveries([fileSource(world)])
  const worker = await rowWorker(world)
  const outcomes = (await worker.claim(3)).map(({ id, fence, key }) => {
    const values = { needs: 0, genre: key === '2' ? 7 : null }
    return { id, fence, startedAt: 0, outcome: { kind: 'completed', values, retryAfterMs: 1_000 } as const }
  })
  const { answers } = await worker.exchange({ outcomes })
  expect(answers).toMatchObject([{ kind: 'done' }, { kind: 'failed', retryInMs: 1_000 }, { kind: 'done' }])
  expect(await world.store.rows.countRows('tag-files')).toMatchObject({
    backingOff: 1,
    waiting: 0,
    claimed: 0,
  })
})

test.each([
  ['no type', 'id, needs integer, valid integer, UNIQUE (id)'],
  ['a blob', 'id BLOB UNIQUE, needs integer, valid integer'],
  ['a real', 'id REAL UNIQUE, needs integer, valid integer'],
  ['unique only in part', 'id integer, needs integer, valid integer'],
])('a key of %s cannot be one', async (_, columns) => {
  const database = await openSqliteDatabase()
  onTestFinished(() => database.destroy())
  const world = new World(database, await database.open())
  await database.tables.run(`CREATE TABLE files (${columns})`)
  await database.tables.run('CREATE UNIQUE INDEX part ON files (id) WHERE needs = 1')
  await expect(world.store.rows.planDiscoveries([fileSource(world)])).rejects.toMatchObject({
    code: 'BAD_DISCOVERY',
  })
})

test('whole rows are counted exactly, aside, when they are many', async () => {
  const database = await openSqliteDatabase()
  onTestFinished(() => database.destroy())
  const world = new World(database, await database.open())
  await database.tables.run('CREATE TABLE files (id integer PRIMARY KEY, needs integer, valid integer)')
  await database.tables.run(`WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 30000)
    INSERT INTO files SELECT i, 1, 1 FROM n`)
  await world.store.rows.planDiscoveries([fileSource(world)])
  const worker = await rowWorker(world)
  const [first] = await worker.claim(5)
  await worker.fail(first!, null)
  const [one, other] = await Promise.all([
    world.store.rows.countRows('tag-files'),
    world.store.rows.countRows('tag-files'),
  ])
  expect(one).toMatchObject({ waiting: 29_995, claimed: 4, quarantined: 1, backingOff: 0 })
  expect(other).toEqual(one)
})
