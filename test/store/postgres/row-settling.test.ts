import { expect } from 'vitest'
import { testMigrated as test } from './place.ts'
import { completed, DONE, kindsOf, rowWorker, source, withFiles } from './rows-place.ts'

test('a rescan that writes unchanged rows is no edit, nor are VACUUM FREEZE and VACUUM FULL', async ({
  place,
}) => {
  const store = await withFiles(place, 4)
  const worker = await rowWorker(store)
  const claims = await worker.claim(4)
  await place.rows('UPDATE gleaner.files SET path = path, needs = true WHERE id <= 2')
  await place.rows('VACUUM FREEZE gleaner.files')
  await place.rows('VACUUM FULL gleaner.files')
  const answers = await worker.settleAll(claims, completed())
  expect(kindsOf(answers)).toEqual(['done', 'done', 'done', 'done'])
})

test('a rescan does not let go of what is quarantined or backs off, an edit does', async ({ place }) => {
  const store = await withFiles(place, 2)
  const worker = await rowWorker(store)
  const [one, two] = await worker.claim(2)
  await worker.fail(one!, null)
  await worker.fail(two!, 3_600_000)
  await place.rows('UPDATE gleaner.files SET path = path')
  await store.maintenance.repairRows({
    limit: 100,
    after: JSON.stringify({ table: 'ledger', discovery: '', key: '' }),
  })
  expect(await worker.claim(5)).toEqual([])
  expect(await store.rows.countRows('files')).toMatchObject({ quarantined: 1, backingOff: 1, waiting: 0 })
  await place.rows(`UPDATE gleaner.files SET path = 'new' WHERE id = 1`)
  expect((await worker.claim(5)).map(({ key, attempt }) => [key, attempt])).toEqual([['1', 1]])
})

test('a row that the app keeps locked holds up nobody, and stays to be done', async ({ place }) => {
  const store = await withFiles(place, 3, {}, { lockTimeoutMs: 500 })
  const worker = await rowWorker(store)
  const claims = await worker.claim(3)
  const app = await place.client()
  await app.query('BEGIN')
  await app.query(`SELECT 1 FROM ${place.schema}.files WHERE id = 2 FOR UPDATE`)
  const answers = await worker.settleAll(claims, completed())
  expect(kindsOf(answers)).toEqual(['done', 'changed', 'done'])
  await app.query('COMMIT')
  expect((await worker.claim(5)).map(({ key }) => key)).toEqual(['2'])
})

test('a transaction of the app that locks rows in another order is never the one that is given up', async ({
  place,
}) => {
  const store = await withFiles(place, 2)
  const worker = await rowWorker(store)
  const claims = await worker.claim(2)
  const app = await place.client()
  // Of two who wait for each other the one is given up who sees it first.
  await app.query("SET deadlock_timeout = '500ms'")
  await app.query('BEGIN')
  await app.query(`UPDATE ${place.schema}.files SET path = 'app' WHERE id = 2`)
  const settling = worker.settleAll(claims, completed())
  await place.until('it waits for the row', async () => {
    const waiting = await place.rows(
      `SELECT 1 FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND query LIKE '%gleaner_ours%'`,
    )
    return waiting.length > 0
  })
  await app.query(`UPDATE ${place.schema}.files SET path = 'app' WHERE id = 1`)
  await app.query('COMMIT')
  expect(kindsOf(await settling)).toEqual(expect.arrayContaining(['changed']))
  expect(await place.rows('SELECT path FROM gleaner.files WHERE id = 2')).toEqual([{ path: 'app' }])
})

test('a constraint that is checked at the end fails its row alone', async ({ place }) => {
  const store = await withFiles(place, 3)
  await place.rows('CREATE TABLE gleaner.paths (path text PRIMARY KEY)')
  await place.rows(`INSERT INTO gleaner.paths VALUES ('a'), ('b')`)
  await place.rows(
    `ALTER TABLE gleaner.files ADD FOREIGN KEY (path) REFERENCES gleaner.paths DEFERRABLE INITIALLY DEFERRED`,
  )
  const worker = await rowWorker(store)
  const claims = await worker.claim(3)
  const outcomes = claims.map(({ id, fence, key }) => ({
    id,
    fence,
    startedAt: 1,
    outcome: completed({ needs: false, path: key === '2' ? 'nowhere' : 'b' }),
  }))
  const { answers } = await worker.exchange({ outcomes })
  expect(kindsOf(answers)).toEqual(['done', 'failed', 'done'])
  expect(answers[1]).toMatchObject({ failure: { message: expect.stringContaining('foreign key') } })
})

test('what a trigger of the app prevents or undoes is a failure, not an endless loop', async ({ place }) => {
  const store = await withFiles(place, 2)
  await place.rows(`CREATE FUNCTION gleaner.mind() RETURNS trigger LANGUAGE plpgsql AS
    'BEGIN IF NEW.id = 1 THEN RETURN NULL; END IF; NEW.needs := true; RETURN NEW; END'`)
  await place.rows(
    'CREATE TRIGGER mind BEFORE UPDATE ON gleaner.files FOR EACH ROW EXECUTE FUNCTION gleaner.mind()',
  )
  const worker = await rowWorker(store)
  const answers = await worker.settleAll(await worker.claim(2), completed())
  expect(answers).toMatchObject([
    { kind: 'failed', failure: { message: expect.stringContaining('prevented') } },
    { kind: 'failed', failure: { message: expect.stringContaining('eligible') } },
  ])
})

test('columns may be retyped, dropped and renamed while rows are claimed, handed in and counted', async ({
  place,
}) => {
  const store = await withFiles(place, 12)
  const worker = await rowWorker(store)
  await place.rows('ALTER TABLE gleaner.files ADD COLUMN bpm integer, ADD COLUMN unused text')
  const alterations = [
    'ALTER COLUMN path TYPE varchar(100)',
    'ALTER COLUMN bpm TYPE bigint',
    'DROP COLUMN unused',
    'RENAME COLUMN path TO place',
  ]
  for (const alteration of alterations) {
    const claims = await worker.claim(3)
    expect(claims).toHaveLength(3)
    const [one, ...others] = claims
    await place.rows(`ALTER TABLE gleaner.files ${alteration}`)
    const answers = await worker.settleAll(others, completed({ needs: false, bpm: 1 }))
    for (const kind of kindsOf(answers)) expect(['done', 'changed']).toContain(kind)
    expect((await worker.completeWith(one!, () => {}, { needs: false })).kind).toMatch(/done|changed/)
    expect(await store.rows.countRows('files')).toMatchObject({ claimed: 0 })
    expect(await store.rows.listDiscoveries()).toMatchObject([{ paused: false, pausedReason: null }])
  }
})

test('a trigger of the app that is broken fails the row, and pauses nothing', async ({ place }) => {
  const store = await withFiles(place, 1)
  const worker = await rowWorker(store)
  const claims = await worker.claim(1)
  await place.rows(`CREATE FUNCTION gleaner.broken() RETURNS trigger LANGUAGE plpgsql AS
    'BEGIN PERFORM missing FROM gleaner.files; RETURN NEW; END'`)
  await place.rows(
    'CREATE TRIGGER broken BEFORE UPDATE ON gleaner.files FOR EACH ROW EXECUTE FUNCTION gleaner.broken()',
  )
  expect(await worker.settleAll(claims, completed())).toMatchObject([
    { kind: 'failed', failure: { message: expect.stringContaining('missing') } },
  ])
  expect(await store.rows.listDiscoveries()).toMatchObject([{ paused: false }])
})

test('values of every type are read and written as they are', async ({ place }) => {
  const store = await place.store()
  await place.rows(`CREATE TYPE gleaner.mood AS ENUM ('sad', 'ok')`)
  await place.rows(`CREATE TABLE gleaner.files (id uuid PRIMARY KEY, needs text NOT NULL, big bigint, exact numeric(30, 5), at timestamptz,
    local timestamp, tags jsonb, raw bytea, flag boolean, words text[], mood gleaner.mood, short varchar(3), n int)`)
  await place.rows(`INSERT INTO gleaner.files (id, needs, big, exact, tags, words, flag) VALUES
    ('0e0e0e0e-0000-4000-8000-000000000001', 'yes', 9007199254740993, 1.50000, '{"a": [1]}', '{x,y}', false)`)
  await store.rows.planDiscoveries([source(place, { where: `needs = 'yes'` })])
  const worker = await rowWorker(store)
  const claim = await worker.claimOne()
  expect(claim.row).toMatchObject({
    big: 9007199254740993n,
    exact: '1.50000',
    tags: { a: [1] },
    flag: false,
    words: ['x', 'y'],
  })
  const at = new Date('2026-11-15T12:34:56.789Z')
  const values = {
    needs: 'no',
    big: 9223372036854775807n,
    exact: '12345678901234567890.12345',
    at,
    local: at,
    tags: { b: ['"', null] },
    raw: new Uint8Array([0, 255]),
    flag: true,
    words: ['a"b', 'c\\d', null],
    mood: 'ok',
    short: null,
    n: true,
  }
  expect(await worker.complete(claim, values as never)).toEqual({ kind: 'done' })
  const [row] = await place.rows('SELECT *, exact::text, big::text FROM gleaner.files')
  expect(row).toMatchObject({
    big: '9223372036854775807',
    exact: '12345678901234567890.12345',
    at,
    local: at,
    tags: { b: ['"', null] },
    raw: Buffer.from([0, 255]),
    flag: true,
    words: ['a"b', 'c\\d', null],
    mood: 'ok',
    n: 1,
  })
})

test('a value that is too long is refused, not cut', async ({ place }) => {
  const store = await withFiles(place, 1)
  await place.rows('ALTER TABLE gleaner.files ADD COLUMN short varchar(3), ADD COLUMN fixed char(3)')
  const worker = await rowWorker(store)
  const claim = await worker.claimOne()
  expect(await worker.complete(claim, { ...DONE, short: 'abcd' }, 0)).toMatchObject({ kind: 'failed' })
  expect(await worker.complete(await worker.claimOne(), { ...DONE, short: 'abc', fixed: 'xyz' })).toEqual({
    kind: 'done',
  })
  expect(await place.rows('SELECT short, fixed FROM gleaner.files')).toEqual([{ short: 'abc', fixed: 'xyz' }])
})
