import pg from 'pg'
import { expect } from 'vitest'
import { claimStatement } from '../../../src/store/postgres/rows/claim.ts'
import type { ScanStart } from '../../../src/store/postgres/rows/claim-sql.ts'
import { KnownDiscovery } from '../../../src/store/postgres/rows/discovery-cache.ts'
import { preconditions } from '../../../src/store/postgres/rows/preconditions.ts'
import { settleSql } from '../../../src/store/postgres/rows/settle-sql.ts'
import { validateSource } from '../../../src/store/postgres/rows/validate.ts'
import { Database, type Statement } from '../../../src/store/postgres/server/database.ts'
import { type Place, testMigrated as test } from './place.ts'
import { DONE, FILES, rowWorker, source, withFiles } from './rows-place.ts'

interface Plan {
  'Node Type': string
  'Relation Name'?: string
  'Index Name'?: string
  'Index Cond'?: string
  'Actual Rows': number
  'Rows Removed by Filter'?: number
  'Rows Removed by Join Filter'?: number
  Plans?: Plan[]
}

function nodesOf(plan: Plan): Plan[] {
  return [plan, ...(plan.Plans ?? []).flatMap(nodesOf)]
}

async function lookedOver(place: Place, declared: ReturnType<typeof source>) {
  const database = new Database({ url: place.url, schema: place.schema })
  place.atEnd(() => database.close())
  return validateSource(database, declared)
}

/** As the store runs it, by one plan for whatever it is asked; nothing of it stays. */
async function planOf(
  place: Place,
  { text, values }: Statement,
  before: readonly Statement[] = [],
): Promise<Plan[]> {
  const client = await place.client()
  await client.query(
    `BEGIN; SET LOCAL enable_seqscan = off; SET LOCAL enable_hashjoin = off; SET LOCAL enable_mergejoin = off;
     SET LOCAL plan_cache_mode = force_generic_plan`,
  )
  for (const statement of before) await client.query(statement.text, [...statement.values])
  await client.query(`PREPARE planned AS ${text}`)
  const given = values.map(literal).join(', ')
  const { rows } = await client.query(`EXPLAIN (ANALYZE, FORMAT JSON) EXECUTE planned (${given})`)
  await client.query('ROLLBACK; DEALLOCATE planned')
  return nodesOf(rows[0]['QUERY PLAN'][0].Plan)
}

function literal(value: unknown): string {
  if (value === null) return 'NULL'
  return pg.escapeLiteral(Array.isArray(value) ? `{${value.join(',')}}` : String(value))
}

/** The plan of a claim of ten, as the store would run it now. */
async function planOfClaim(
  place: Place,
  declared: ReturnType<typeof source>,
  session: string,
  look: ScanStart,
): Promise<Plan[]> {
  const [{ version, life }] = await place.rows(
    `SELECT value::int AS version, (SELECT life::text FROM gleaner.server_life) AS life
     FROM gleaner.settings WHERE key = 'discoveries'`,
  )
  const known = new KnownDiscovery(await lookedOver(place, declared), place.schema, version, 1)
  const claim = claimStatement(known, session, { look, rows: 1_010 }, { start: 10, total: 10 })
  const intent = { known, look, suspectsFirst: false, life: Number(life) }
  const said = preconditions(place.schema, { session, discoveries: [declared.name], clockMs: null }, intent)
  return planOf(place, claim, [said])
}

/** By the type of the key: its column, the SQL of the n-th, and a place somewhere in the middle. */
const KEYS: Record<string, [columns: string, key: string[], nth: string, middle: string]> = {
  integer: ['id integer PRIMARY KEY', ['id'], 'n', '2500'],
  bigint: ['id bigint PRIMARY KEY', ['id'], '9007199254740000 + n', '9007199254742500'],
  text: [`id text PRIMARY KEY`, ['id'], `lpad(n::text, 6, '0')`, '002500'],
  uuid: [
    'id uuid PRIMARY KEY',
    ['id'],
    "lpad(n::text, 32, '0')::uuid",
    '00000000-0000-0000-0000-000000002500',
  ],
  'several columns': ['a text, b bigint, PRIMARY KEY (a, b)', ['a', 'b'], `'x', n`, '["x",2500]'],
}

test.for(Object.entries(KEYS))(
  'a claim by a key of type %s reads what it takes, by the index of the user',
  async ([, [columns, key, nth, middle]], { place }) => {
    const store = await place.store()
    await place.rows(`CREATE TABLE gleaner.files (${columns}, needs boolean NOT NULL)`)
    await place.rows(`INSERT INTO gleaner.files SELECT ${nth}, n % 2 = 0 FROM generate_series(1, 5000) n`)
    const declared = source(place, { key })
    const [planned] = await store.rows.planDiscoveries([declared])
    await place.rows(planned!.createIndex!)
    await store.rows.planDiscoveries([declared])
    const worker = await rowWorker(store)
    const [first] = await worker.claim(200)
    // In front of what others hold it is told where they are.
    for (const [look, most] of [
      [{ at: 'beginning' }, 210],
      [{ at: 'behind', place: middle }, 10],
      [{ at: 'behind', place: first!.key }, 209],
      [{ at: 'behind', place: first!.key, heard: null }, 10],
    ] as const) {
      const nodes = await planOfClaim(place, declared, worker.session, { ...look, tells: true })
      const scans = nodes.filter((node) => node['Relation Name'] === 'files' && node['Actual Rows'] > 0)
      for (const scan of scans) {
        expect(scan['Node Type']).toMatch(/^Index/)
        expect(scan['Index Name']).not.toBe('files_pkey')
        expect(scan['Rows Removed by Filter'] ?? 0).toBe(0)
        expect(scan['Actual Rows']).toBeLessThanOrEqual(most)
      }
      expect(scans.length).toBeGreaterThan(0)
      // Who holds a row, and what is remembered of it, is asked for by the whole key.
      for (const table of ['claims', 'ledger']) {
        const asked = nodes.filter(
          (node) => node['Relation Name'] === table && node['Index Name']?.endsWith('_pkey'),
        )
        expect(asked.map((node) => /row_key = /.test(node['Index Cond'] ?? ''))).toContain(true)
      }
    }
  },
)

test('the ledger is asked by its indexes, each for its own, though it was empty when that was planned', async ({
  place,
}) => {
  const store = await withFiles(place, 10)
  await place.rows('VACUUM ANALYZE gleaner.ledger, gleaner.claims')
  const worker = await rowWorker(store)
  const known = new KnownDiscovery(await lookedOver(place, source(place)), place.schema, 1, 1)
  const wanted = { start: 1, total: 1 }
  const behind: ScanStart = { at: 'behind', tells: false, place: '1' }
  const [{ life }] = await place.rows('SELECT life::text AS life FROM gleaner.server_life')
  const intent = { known, look: behind, suspectsFirst: true, life: Number(life) }
  const asking = { session: worker.session, discoveries: ['files'], clockMs: null }
  const said = preconditions(place.schema, asking, intent)
  const glanced = preconditions(place.schema, asking, intent, 'glance')
  const indexesOf = async (statement: Statement) =>
    (await planOf(place, statement, [said]))
      .filter((node) => node['Relation Name'] === 'ledger')
      .map((node) => node['Index Name'])
  expect(await indexesOf(said)).toEqual(['ledger_kept', 'ledger_kept', 'ledger_kept', 'ledger_suspect'])
  expect(await indexesOf(glanced)).toEqual(['ledger_kept'])
  const claim = (look: ScanStart) => claimStatement(known, worker.session, { look, rows: 1_000 }, wanted)
  expect(await indexesOf(claim(behind))).toEqual(['ledger_pkey'])
  expect(await indexesOf(claim({ at: 'due' }))).toEqual(['ledger_kept', 'ledger_pkey'])
  expect(await indexesOf(claim({ at: 'suspects', but: [] }))).toEqual(['ledger_suspect', 'ledger_pkey'])
})

test('what the ledger remembers of rows that are handed in is found by their keys, though it was empty when that was planned', async ({
  place,
}) => {
  const store = await withFiles(place, 10)
  await place.rows('VACUUM ANALYZE gleaner.ledger, gleaner.claims')
  const worker = await rowWorker(store)
  const claims = await worker.claim(10)
  const { source: looked } = await lookedOver(place, source(place))
  const columns = looked.columns.filter(({ name }) => name === 'needs')
  const values = [
    worker.session,
    claims.map(({ key }) => key),
    claims.map(({ fence }) => fence),
    claims.map(() => 'false'),
  ]
  const nodes = await planOf(place, { text: settleSql(looked, `"${place.schema}"`, columns), values })
  const asked = nodes.filter((node) => node['Relation Name'] === 'ledger')
  // Whether it remembers any; what of each; and what is forgotten, where it was found.
  expect(asked.filter((node) => /row_key = /.test(node['Index Cond'] ?? ''))).toMatchObject([
    { 'Index Name': 'ledger_pkey' },
  ])
  expect(asked.filter((node) => node['Index Name'] !== undefined)).toHaveLength(2)
  expect(nodes.map((node) => node['Node Type'])).toContain('Tid Scan')
})

test('rows that are handed in lead to their claims, however many the session holds', async ({ place }) => {
  const store = await withFiles(place, 600)
  const worker = await rowWorker(store)
  const claims = await worker.claim(600)
  const { source: looked } = await lookedOver(place, source(place))
  const columns = looked.columns.filter(({ name }) => name === 'needs')
  const text = settleSql(looked, `"${place.schema}"`, columns)
  const some = claims.slice(0, 200)
  const values = [
    worker.session,
    some.map(({ key }) => key),
    some.map(({ fence }) => fence),
    some.map(() => 'false'),
  ]
  const nodes = await planOf(place, { text, values })
  const asked = nodes.filter((node) => node['Index Name']?.startsWith('claims_'))
  expect(asked).toMatchObject([
    { 'Index Name': 'claims_pkey', 'Index Cond': expect.stringContaining('row_key') },
  ])
  expect(nodes.map((node) => node['Rows Removed by Join Filter'] ?? 0)).toEqual(nodes.map(() => 0))
})

test('without an index a look reads so many rows at a time, and finds everything all the same', async ({
  place,
}) => {
  const store = await withFiles(place, 12_000)
  await place.rows('UPDATE gleaner.files SET needs = id IN (7000, 11000)')
  const worker = await rowWorker(store)
  expect((await worker.claimAll()).map(({ key }) => key)).toEqual(['7000', '11000'])
})

test('an index that comes later is told of no more, and used', async ({ place }) => {
  const store = await withFiles(place, 10)
  const [planned] = await store.rows.planDiscoveries([source(place)])
  expect(planned!.createIndex).toBe(`CREATE INDEX ON "${place.schema}"."files" ("id") WHERE needs`)
  await place.rows(planned!.createIndex!)
  expect((await store.rows.planDiscoveries([source(place)]))[0]!.createIndex).toBe(null)
})

test('a condition that no index can hold is offered one for its order, if it has one', async ({ place }) => {
  const store = await place.store()
  await place.rows('CREATE TABLE gleaner.files (id integer PRIMARY KEY, due timestamptz NOT NULL)')
  const where = 'due < now()'
  const [plain, ordered] = await store.rows.planDiscoveries([
    source(place, { where }),
    source(place, { name: 'ordered', where, orderBy: 'due' }),
  ])
  expect(plain!.createIndex).toBe(null)
  expect(ordered!.createIndex).toBe(`CREATE INDEX ON "${place.schema}"."files" ("due", "id")`)
  await place.rows(ordered!.createIndex!)
  const declared = source(place, { name: 'ordered', where, orderBy: 'due' })
  expect((await store.rows.planDiscoveries([declared]))[0]!.createIndex).toBe(null)
})

test('a condition that hangs on the moment is offered an index by what else it asks', async ({ place }) => {
  const store = await place.store()
  await place.rows(
    'CREATE TABLE gleaner.files (id integer PRIMARY KEY, needs integer NOT NULL, due timestamptz NOT NULL)',
  )
  const declared = source(place, { where: 'due < now() AND needs = 1' })
  const [planned] = await store.rows.planDiscoveries([declared])
  expect(planned!.createIndex).toBe(`CREATE INDEX ON "${place.schema}"."files" ("needs", "id")`)
  await place.rows(planned!.createIndex!)
  expect((await store.rows.planDiscoveries([declared]))[0]!.createIndex).toBe(null)
})

test('words of a condition that look like ours are the app’s', async ({ place }) => {
  const where = `needs AND path <> 'gleaner.tasks' AND path NOT IN (SELECT 'gleaner.' || 'x') AND ('{"a": 1}'::jsonb ? 'a')`
  const store = await withFiles(place, 2, { where })
  await place.rows(`UPDATE gleaner.files SET path = 'gleaner' || '.tasks' WHERE id = 1`)
  const worker = await rowWorker(store)
  const claims = await worker.claimAll()
  expect(claims.map(({ key }) => key)).toEqual(['2'])
  expect(await worker.complete(claims[0]!, DONE)).toEqual({ kind: 'done' })
})

test('a condition that writes is refused, also by a function of the app’s own', async ({ place }) => {
  const store = await place.store()
  await place.rows(FILES)
  await place.rows('CREATE SEQUENCE gleaner.counter')
  await place.rows(`CREATE FUNCTION gleaner.sly() RETURNS boolean LANGUAGE plpgsql AS
    'BEGIN DELETE FROM ${place.schema}.files; RETURN true; END'`)
  for (const where of [`nextval('${place.schema}.counter') > 0`, `${place.schema}.sly()`]) {
    await expect(store.rows.planDiscoveries([source(place, { where })])).rejects.toMatchObject({
      code: 'BAD_DISCOVERY',
      message: expect.stringContaining('it writes'),
    })
  }
})

test('a table of parts is a table; a materialized view and a foreign table are none', async ({ place }) => {
  const store = await place.store()
  await place.rows(
    'CREATE TABLE gleaner.files (id integer PRIMARY KEY, needs boolean NOT NULL) PARTITION BY RANGE (id)',
  )
  for (const [from, to] of [
    [0, 10],
    [10, 20],
  ]) {
    await place.rows(
      `CREATE TABLE gleaner.files_${from} PARTITION OF gleaner.files FOR VALUES FROM (${from}) TO (${to})`,
    )
  }
  await place.rows('INSERT INTO gleaner.files SELECT n, true FROM generate_series(5, 14) n')
  await place.rows('CREATE MATERIALIZED VIEW gleaner.seen AS SELECT * FROM gleaner.files')
  await store.rows.planDiscoveries([source(place)])
  const worker = await rowWorker(store)
  const claims = await worker.claimAll()
  expect(claims).toHaveLength(10)
  for (const claim of claims) expect(await worker.complete(claim, DONE)).toEqual({ kind: 'done' })
  await place.rows(`CREATE FOREIGN DATA WRAPPER ${place.schema}_elsewhere`)
  await place.rows(`CREATE SERVER ${place.schema}_far FOREIGN DATA WRAPPER ${place.schema}_elsewhere`)
  await place.rows(`CREATE FOREIGN TABLE gleaner.abroad (id integer) SERVER ${place.schema}_far`)
  // A wrapper belongs to the database, not to the schema of this test.
  place.atEnd(() => place.rows(`DROP FOREIGN DATA WRAPPER ${place.schema}_elsewhere CASCADE`))
  for (const [table, kind] of [
    ['seen', 'materialized view'],
    ['abroad', 'foreign table'],
  ]) {
    await expect(
      store.rows.planDiscoveries([source(place, { table: `${place.schema}.${table}` })]),
    ).rejects.toMatchObject({
      code: 'BAD_DISCOVERY',
      message: expect.stringContaining(kind!),
    })
  }
})

test('a condition that fails on some row pauses the discovery, and says why', async ({ place }) => {
  const store = await withFiles(place, 3, { where: 'needs AND 1 / (id - 2) < 5' })
  const worker = await rowWorker(store)
  expect(await worker.claim(5)).toEqual([])
  const [discovery] = await store.rows.listDiscoveries()
  expect(discovery).toMatchObject({ paused: true, pausedReason: expect.stringContaining('division by zero') })
})
