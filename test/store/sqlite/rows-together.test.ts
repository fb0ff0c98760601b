import Database from 'better-sqlite3'
import { expect, onTestFinished, test } from 'vitest'
import { type RowValues, rowId } from '../../../src/model/row.ts'
import type { DiscoverySource } from '../../../src/store/ports/rows.ts'
import { writePlans } from '../../../src/store/scripts/rows/discoveries.ts'
import type { SqliteDatabase } from '../../../src/store/sqlite/drivers/driver.ts'
import { loadDriver } from '../../../src/store/sqlite/drivers/load.ts'
import { driveOn, sqliteDialect } from '../../../src/store/sqlite/file/scripts.ts'
import { Statements } from '../../../src/store/sqlite/file/statements.ts'
import { migrations } from '../../../src/store/sqlite/migrations/index.ts'
import { claimBehind } from '../../../src/store/sqlite/rows/claim.ts'
import { completeBatches, completionBatches } from '../../../src/store/sqlite/rows/complete-batch.ts'
import { registerDigest, versionSql } from '../../../src/store/sqlite/rows/digest.ts'
import { DiscoveryCache } from '../../../src/store/sqlite/rows/discovery-cache.ts'
import { validateSources } from '../../../src/store/sqlite/rows/plan.ts'
import { validateSource } from '../../../src/store/sqlite/rows/shape.ts'
import { DiscoveryStatements } from '../../../src/store/sqlite/rows/statements.ts'
import { fileSource, rowWorker } from '../../conformance/row-worker.ts'
import { World } from '../../conformance/world.ts'
import { openSqliteDatabase } from '../sqlite-database.ts'
import { connect, freshPath } from './folder.ts'

const SOURCE: DiscoverySource = {
  name: 'tag',
  table: 'files',
  key: ['id'],
  where: 'needs = 1',
  version: null,
  orderBy: null,
  maxAttempts: 3,
  crashLimit: 3,
}

function withFiles(count: number): Statements {
  const raw = new Database(':memory:')
  onTestFinished(() => void raw.close())
  registerDigest(raw)
  for (const { sql } of migrations) raw.exec(sql)
  raw.exec('CREATE TABLE files (id INTEGER PRIMARY KEY, needs INTEGER NOT NULL, data)')
  addFiles(raw, 1, count)
  return new Statements(raw as SqliteDatabase, loadDriver())
}

function addFiles(raw: SqliteDatabase, first: number, last: number): void {
  raw.exec(`WITH RECURSIVE n(i) AS (SELECT ${first} UNION ALL SELECT i + 1 FROM n WHERE i < ${last})
            INSERT INTO files SELECT i, 1, NULL FROM n`)
}

const PLACES = `SELECT * FROM (VALUES ${[
  'NULL',
  "'NULL'",
  "'null'",
  '1',
  '1.0',
  "'1'",
  "x'31'",
  "'1.0'",
  '0.3',
  '0.1 + 0.2',
  '9007199254740993',
  '9007199254740992.0',
  "'a' || char(0) || 'b'",
  "'a' || char(0) || 'c'",
  "'[1]'",
  "''",
  "x''",
  "replace(hex(zeroblob(200)), '0', 'a')",
  "replace(hex(zeroblob(200)), '0', 'a') || 'b'",
  'zeroblob(400)',
]
  .map((value) => `(${value})`)
  .join(', ')})`

test.for(['', 'INTEGER'])(
  'the version of a row tells any two values of a column of type %j apart',
  (type) => {
    const db = withFiles(0)
    db.raw.exec(`CREATE TABLE kinds AS ${PLACES}`)
    const versions = db.raw
      .prepare(`SELECT ${versionSql([{ sql: 'column1', type }])} FROM kinds`)
      .pluck()
      .all()
    expect(versions).toHaveLength(20)
    expect(new Set(versions).size).toBe(20)
  },
)

test.for(['', 'TEXT', 'JSON'])('the version of a long row with a column of type %j is short', (type) => {
  const db = withFiles(0)
  const version = db.raw
    .prepare(`SELECT ${versionSql([{ sql: 'column1', type }])} FROM (${PLACES}) WHERE length(column1) > 300`)
    .pluck()
  expect(version.all().map((one) => String(one).length)).toEqual([28, 28, 28])
})

test('rows with a column whose order only the app knows are compared all the same', () => {
  const path = freshPath()
  const app = connect(path)
  app.unsafeMode()
  app.exec(`CREATE TABLE names (name TEXT COLLATE NOCASE); INSERT INTO names VALUES ('a'); PRAGMA writable_schema = 1;
            UPDATE sqlite_schema SET sql = 'CREATE TABLE names (name TEXT COLLATE OWN)'`)
  const version = versionSql([{ sql: 'name', type: 'TEXT' }])
  const ours = connect(path)
  registerDigest(ours)
  expect(ours.prepare(`SELECT ${version} FROM names`).pluck().all()).toEqual(['["a"]'])
})

const KINDS: readonly RowValues[string][] = [
  null,
  true,
  7,
  Number.MAX_SAFE_INTEGER,
  2 ** 60,
  2n ** 60n,
  0.1 + 0.2,
  'text',
  'a\0b',
  '1',
  new Date(1_700_000_000_000),
  new Uint8Array([1, 2]),
]

test.for(['the same', 'their own'])(
  'rows that are handed in together, with %s values, are stored as each would be alone',
  async (whose) => {
    const database = await openSqliteDatabase()
    onTestFinished(() => database.destroy())
    const world = new World(database, await database.open())
    await database.tables.run(
      'CREATE TABLE files (id integer PRIMARY KEY, needs integer, valid integer, data)',
    )
    for (const n of KINDS.keys())
      await database.tables.run(
        `INSERT INTO files VALUES (${3 * n}, 1, 1, 0), (${3 * n + 1}, 1, 1, 0), (${3 * n + 2}, 1, 1, 0)`,
      )
    await world.store.rows.planDiscoveries([fileSource(world)])
    const worker = await rowWorker(world)
    for (const data of KINDS) {
      const values = { needs: 0, data }
      const [alone, ...together] = await worker.claim(3)
      expect(await worker.complete(alone!, values)).toEqual({ kind: 'done' })
      const outcomes = together.map(({ id, fence }, n) => {
        const own = whose === 'the same' ? values : { ...values, valid: n }
        return {
          id,
          fence,
          startedAt: 0,
          outcome: { kind: 'completed', values: own, retryAfterMs: 1 } as const,
        }
      })
      expect((await worker.exchange({ outcomes })).answers).toEqual([{ kind: 'done' }, { kind: 'done' }])
    }
    const rows = await database.tables.rows(
      'SELECT valid, typeof(data) || quote(data) AS stored FROM files ORDER BY id',
    )
    for (const n of KINDS.keys()) {
      const [alone, ...together] = rows.slice(3 * n, 3 * n + 3)
      expect(together.map(({ stored }) => stored)).toEqual([alone!.stored, alone!.stored])
      expect(together.map(({ valid }) => valid)).toEqual(whose === 'the same' ? [1, 1] : [0, 1])
    }
  },
)

test.for(['together', 'one by one'])('late ones that go in %s write nothing', async (how) => {
  const database = await openSqliteDatabase()
  onTestFinished(() => database.destroy())
  await database.tables.run('CREATE TABLE files (id integer PRIMARY KEY, needs integer, valid integer)')
  await database.tables.run('INSERT INTO files VALUES (1, 1, 1)')
  // Of a table that seems small SQLite would read all.
  if (how === 'one by one') await database.tables.run('ANALYZE')
  await database.tables.run('INSERT INTO files VALUES (2, 1, 1), (3, 1, 1)')
  const world = new World(database, await database.open())
  await world.store.rows.planDiscoveries([fileSource(world)])
  const late = await rowWorker(world, { worker: 'worker:late:0' })
  const lost = await late.claim(2)
  for (const claim of lost) await late.giveBack(claim)
  expect(await (await rowWorker(world)).claimAll()).toHaveLength(3)
  const outcome = { kind: 'completed', values: { needs: 0 }, retryAfterMs: 1 } as const
  const answers = await late.settleAll(lost, outcome)
  expect(answers.map(({ kind }) => kind)).toEqual(['refused', 'refused'])
  expect(await database.tables.rows('SELECT 1 FROM files WHERE needs = 1')).toHaveLength(3)
})

test('a table that was small when it was analysed is not read to its end for each of many', () => {
  const db = withFiles(1)
  db.raw.exec('CREATE INDEX own ON files (id) WHERE needs = 1; CREATE INDEX other ON files (needs)')
  const isLed = () => {
    const statements = new DiscoveryStatements(validateSource(db, SOURCE))
    const named = { name: '', fence: 0, session: 0, value0: 0 }
    return statements.isLedByKeys(
      db,
      statements.updateTogether(['needs'], { fence: false, values: false }),
      named,
    )
  }
  expect(isLed()).toBe(true)
  db.raw.exec('ANALYZE')
  addFiles(db.raw, 2, 20_000)
  expect(isLed()).toBe(false)
})

function plan(db: Statements, source: DiscoverySource): void {
  driveOn(
    db,
    writePlans(
      sqliteDialect(() => 0),
      validateSources(db, [source]),
    ),
  )
}

test.for(['the same', 'their own'])('rows of several claims go in together, with %s values', (whose) => {
  const db = withFiles(4)
  plan(db, SOURCE)
  const book = new DiscoveryCache(db)
  const want = { start: 2, count: 2 }
  const held = [1, 2].map((fence) => claimBehind(db, book.get('tag'), want, { session: 1, now: 0, fence })!)
  const outcomes = held.flatMap(({ found, fence }) =>
    found.map(([key]) => {
      const values = { needs: 0, data: whose === 'the same' ? 'x' : key }
      const outcome = { kind: 'completed', values, retryAfterMs: 1 } as const
      return { id: rowId('tag', key), fence, startedAt: 0, outcome }
    }),
  )
  const settling = { db, book, session: 1, now: 0 }
  db.raw.exec('BEGIN')
  expect(completeBatches(settling, completionBatches(outcomes)!)).toBe(true)
  db.raw.exec('COMMIT')
  expect(db.raw.prepare('SELECT needs, data FROM files').raw().all()).toEqual(
    ['1', '2', '3', '4'].map((key) => [0, whose === 'the same' ? 'x' : key]),
  )
})

test('columns whose names together read like another one are told apart', () => {
  const db = withFiles(0)
  db.raw.exec('ALTER TABLE files ADD COLUMN "needs,data"')
  const statements = new DiscoveryStatements(validateSource(db, SOURCE))
  for (const text of [statements.update, statements.updateHeld].map((one) => one.bind(statements)))
    expect(text(['needs,data'])).not.toBe(text(['needs', 'data']))
  const own = { fence: false, values: false }
  const [one, other] = [['needs,data'], ['needs', 'data']].map((columns) =>
    statements.updateTogether(columns, own),
  )
  expect(one!.few).not.toBe(other!.few)
})

test('a store goes on behind what another has claimed, and does not walk over it', () => {
  const db = withFiles(1_000)
  plan(db, SOURCE)
  const [one, other] = [new DiscoveryCache(db), new DiscoveryCache(db)]
  const claim = (book: DiscoveryCache, start: number, fence: number) => {
    const want = { start, count: start }
    const held = claimBehind(db, book.get('tag'), want, { session: 1, now: 0, fence })
    return held!.found.map(([key]) => key)
  }
  expect(claim(one, 200, 1).at(-1)).toBe('200')
  expect(other.get('tag').hand.places()).toEqual(['200'])
  expect(claim(other, 1, 2)).toEqual(['201'])
  // A few are no reason to tell.
  expect(one.get('tag').hand.places()).toEqual(['200'])
  expect(claim(other, 200, 3).at(-1)).toBe('401')
  expect(one.get('tag').hand.places()).toEqual(['401'])
  plan(db, { ...SOURCE, key: ['id', 'needs'] })
  expect(other.get('tag').hand.places()).toEqual([null])
})
