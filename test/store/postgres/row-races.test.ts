import { expect } from 'vitest'
import { defineDiscovery } from '../../../src/index.ts'
import type { Store } from '../../../src/store/ports/store.ts'
import { waitForTurn } from '../../../src/store/postgres/rows/turn.ts'
import { type Place, testMigrated as test } from './place.ts'
import type { Loss } from './proxy.ts'
import { completed, rowWorker, source, trade, withFiles } from './rows-place.ts'

const COMMIT = /^COMMIT$/
const CLAIMING = /INSERT INTO \S+\.claims/

/** Claims and completes until there is nothing left, and answers what it has done. */
async function workOff(store: Store, batch: number): Promise<string[]> {
  const worker = await rowWorker(store)
  const done: string[] = []
  let { claims, nextDueInMs } = await worker.take(batch)
  while (claims.length > 0 || nextDueInMs !== null) {
    const keys = claims.map(({ key }) => key)
    const traded = await trade(worker, claims, batch)
    for (const [at, { kind }] of traded.answers.entries()) {
      if (kind !== 'done') throw new Error(`${keys[at]} is ${kind}`)
      done.push(keys[at]!)
    }
    claims = traded.claims
    nextDueInMs = traded.nextDueInMs
  }
  await worker.end('stop')
  return done
}

test('several stores that ask at the same time share the rows, each is done once, and nobody gives up early', async ({
  place,
}) => {
  const first = await withFiles(place, 2_000)
  const stores = [first, await place.store(), await place.store(), await place.store()]
  const done = await Promise.all(stores.map((store, n) => workOff(store, 3 + n * 7)))
  const all = done.flat()
  expect(all).toHaveLength(2_000)
  expect(new Set(all).size).toBe(2_000)
  for (const some of done) expect(some.length).toBeGreaterThan(0)
  expect(await place.rows('SELECT 1 FROM gleaner.files WHERE needs')).toEqual([])
  expect(await place.rows('SELECT 1 FROM gleaner.claims')).toEqual([])
})

/** Has the turn to claim until it commits. */
async function takeTurn(place: Place) {
  const client = await place.client()
  await client.query('BEGIN')
  const { text, values } = waitForTurn(place.schema, source(place).name)
  await client.query(text, [...values])
  return client
}

function untilItsTurnIsWaitedFor(place: Place): Promise<void> {
  return place.until('it waits for its turn', async () => {
    const found = await place.rows(
      `SELECT 1 FROM pg_stat_activity WHERE wait_event = 'advisory' AND query LIKE '%"${place.schema}" claims %'`,
    )
    return found.length > 0
  })
}

test('who is ended after it handed in, while it waits for its turn to claim, hears that both is so', async ({
  place,
}) => {
  const store = await withFiles(place, 3)
  const worker = await rowWorker(await place.store())
  const [claim] = await worker.claim(1)
  const turn = await takeTurn(place)
  const traded = trade(worker, [claim!], 1)
  await untilItsTurnIsWaitedFor(place)
  await store.sessions.endSession(worker.session, 'lease')
  await turn.query('COMMIT')
  expect(await traded).toMatchObject({ sessionEnded: true, answers: [{ kind: 'done' }], claims: [] })
  expect(await place.rows('SELECT id FROM gleaner.files WHERE NOT needs')).toEqual([
    { id: Number(claim!.key) },
  ])
})

test('whatever others hold behind the place where they were last heard of is walked over once, to its end', async ({
  place,
}) => {
  const store = await withFiles(place, 5_001)
  const first = await rowWorker(store)
  const second = await rowWorker(await place.store())
  expect(await first.claim(60)).toHaveLength(60)
  expect(await second.claim(1)).toMatchObject([{ key: '61' }])
  await place.rows(
    `INSERT INTO gleaner.claims (discovery, row_key, session, fence, row_version, row_hash, attempt, claimed_at)
     SELECT discovery, n::text, session, fence, row_version, row_hash, attempt, claimed_at
     FROM gleaner.claims, generate_series(62, 5000) n WHERE row_key = '1'`,
  )
  expect(await second.claimAll()).toMatchObject([{ key: '5001' }])
  const want = { discoveries: ['files'], start: 1, ahead: 0, empty: false, thorough: true }
  expect(await second.exchange({ want })).toMatchObject({ claims: [], nextDueInMs: null })
})

test('who waited for his turn sees what others took meanwhile, whatever the isolation of the server is', async ({
  place,
}) => {
  const store = await withFiles(place, 4)
  const url = new URL(place.url)
  url.searchParams.set('options', '-c default_transaction_isolation=serializable')
  const strict = await rowWorker(await place.store({ url: url.href }))
  const turn = await takeTurn(place)
  const waiting = strict.take(2)
  await untilItsTurnIsWaitedFor(place)
  const holder = await rowWorker(store)
  await turn.query(
    `INSERT INTO "${place.schema}".claims (discovery, row_key, session, fence, attempt, claimed_at)
     SELECT 'files', n::text, $1, 1, 1, 1 FROM generate_series(1, 2) n`,
    [holder.session],
  )
  await turn.query('COMMIT')
  const { claims, conflicts } = await waiting
  expect(claims.map(({ key }) => key)).toEqual(['3', '4'])
  expect(conflicts).toBe(0)
})

test('a turn that does not come is no fault of the discovery: it is told, and asked for again', async ({
  place,
}) => {
  const store = await withFiles(place, 2, {}, { lockTimeoutMs: 50 })
  const worker = await rowWorker(store)
  const turn = await takeTurn(place)
  for (let n = 0; n < 4; n++) await expect(worker.take(1)).rejects.toMatchObject({ code: 'STORE_BUSY' })
  await turn.query('ROLLBACK')
  expect(await place.rows('SELECT paused FROM gleaner.discoveries')).toEqual([{ paused: false }])
  expect(await worker.claim(1)).toHaveLength(1)
})

test('whoever is busy while a claim is under way holds up nobody: the server needs no more of him', async ({
  place,
}) => {
  const store = await withFiles(place, 4)
  const proxy = await place.proxy()
  const deaf = await place.store({ url: proxy.url, notify: false })
  const worker = await rowWorker(deaf)
  const [claim] = await worker.claim(1)
  const hushed = proxy.lose('hearing', /^BEGIN/)
  // It hears nothing any more, as if a handler kept its event loop busy.
  const unheard = trade(worker, [claim!], 1).catch(() => null)
  await hushed
  await place.until('its row is done', async () => {
    const [row] = await place.rows('SELECT needs FROM gleaner.files WHERE id = $1', [Number(claim!.key)])
    return row.needs === false
  })
  expect(await place.rows('SELECT row_key FROM gleaner.claims')).toHaveLength(1)
  expect(
    await place.rows(
      `SELECT 1 FROM pg_stat_activity WHERE state LIKE 'idle in transaction%' AND query LIKE '%${place.schema}%'`,
    ),
  ).toEqual([])
  const others = await rowWorker(store)
  expect(await others.claimAll()).toHaveLength(2)
  await proxy.close()
  await unheard
})

test('a session that ends while it claims and hands in leaves no claim behind', async ({ place }) => {
  const store = await withFiles(place, 1_000)
  const other = await place.store()
  for (let round = 0; round < 45; round++) {
    const worker = await rowWorker(store)
    let claims = await worker.claim(5)
    const trading = (async () => {
      for (let n = 0; n < 3; n++) {
        const answer = await trade(worker, claims, 5)
        if (answer.sessionEnded) return
        claims = answer.claims
      }
    })()
    const [, end] = await Promise.all([trading, other.sessions.endSession(worker.session, 'lease')])
    expect(end).not.toBe(null)
    expect(await place.rows('SELECT 1 FROM gleaner.claims')).toEqual([])
  }
})

test('a row that was edited while the statement that writes it waits is left as it is', async ({ place }) => {
  const store = await withFiles(place, 1)
  const worker = await rowWorker(store)
  const claims = await worker.claim(1)
  const app = await place.client()
  await app.query('BEGIN')
  await app.query(`UPDATE ${place.schema}.files SET path = 'app'`)
  const settling = worker.settleAll(claims, completed({ needs: false, path: 'ours' }))
  await place.until('it waits', async () => {
    const found = await place.rows(
      `SELECT 1 FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND query LIKE '%gleaner_ours%'`,
    )
    return found.length > 0
  })
  await app.query('COMMIT')
  expect(await settling).toMatchObject([{ kind: 'changed', times: 1 }])
  expect(await place.rows('SELECT path, needs FROM gleaner.files')).toEqual([{ path: 'app', needs: true }])
})

test.for<[Loss, string]>([
  ['answer', 'whose answer is lost'],
  ['question', 'that never arrives'],
])('a commit %s: every row is done, and none is left claimed', async ([loss], { place }) => {
  const proxy = await place.proxy()
  await place.createSchema()
  await place.rows('CREATE TABLE gleaner.files (id integer PRIMARY KEY, needs boolean NOT NULL)')
  await place.rows('INSERT INTO gleaner.files SELECT n, true FROM generate_series(1, 40) n')
  const files = defineDiscovery({
    name: 'files',
    table: `${place.schema}.files`,
    key: 'id',
    where: 'needs',
    run: () => {},
    done: () => ({ needs: false }),
  })
  const engine = await place.open({ database: proxy.url, discoveries: [files] })
  const problems: unknown[] = []
  engine.on('problem', ({ error }) => problems.push(error))
  const lost = proxy.lose(loss, COMMIT, CLAIMING)
  const worker = engine.work({ discoveries: ['files'], concurrency: 3 })
  await lost
  await place.until(
    'all are done',
    async () => (await place.rows('SELECT 1 FROM gleaner.files WHERE needs')).length === 0,
  )
  await worker.drained()
  expect(problems).toHaveLength(1)
  expect(await place.rows('SELECT 1 FROM gleaner.claims')).toEqual([])
})
