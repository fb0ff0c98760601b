import { describe, expect } from 'vitest'
import { defineTask, type Gleaner, StoreError } from '../../../src/index.ts'
import { Database } from '../../../src/store/postgres/server/database.ts'
import { type Place, test } from './place.ts'

/** Dead connections are noticed in two seconds, and a lease lasts for two of them. */
const TIMINGS = { query: '2s', lease: '4s', sweep: '100ms' } as const
const NOTICED_MS = 2_000
const LISTENING = /^LISTEN/
const RENEWING = /SET renewals = renewals \+ 1/
const CLAIMING = /SET session = \$3, fence = fence.value/
const EVERY = /./
const NONE = /(?!)/

/** A task that runs until the test says so, and remembers how it went. */
function held() {
  const gate = Promise.withResolvers<void>()
  const runs: { fence: number; lost: unknown }[] = []
  const task = defineTask({
    name: 'held',
    async run(_: undefined, ctx) {
      const run = { fence: ctx.fence, lost: undefined as unknown }
      runs.push(run)
      ctx.signal.addEventListener('abort', () => {
        run.lost = ctx.signal.reason
      })
      await gate.promise
      return ctx.complete(ctx.fence, (tx: any) => tx.query('SELECT 1'))
    },
  })
  return { task, runs, end: gate.resolve }
}

const quick = defineTask({ name: 'quick', run: () => 'done' })

function problemsOf(engine: Gleaner): string[] {
  const problems: string[] = []
  engine.on('problem', ({ message, error }) => problems.push(`${message}: ${error}`))
  return problems
}

async function behindProxy(place: Place, tasks: Parameters<Place['open']>[0] = {}) {
  const proxy = await place.proxy()
  const engine = await place.open({ database: proxy.url, tasks: [quick], timings: TIMINGS, ...tasks })
  return { proxy, engine, problems: problemsOf(engine) }
}

describe.concurrent('a connection that is silently dead', () => {
  test('under enqueue: it rejects in time, and says that the task may have been stored', async ({
    place,
  }) => {
    const { proxy, engine } = await behindProxy(place)
    const first = await engine.enqueue(quick, undefined, { key: 'k' })
    expect(first.created).toBe(true)
    proxy.silence(EVERY)
    const beganMs = performance.now()
    const error = await engine.enqueue(quick).catch((caught) => caught)
    expect(performance.now() - beganMs).toBeLessThan(5 * NOTICED_MS)
    expect(error).toBeInstanceOf(StoreError)
    expect(error).toMatchObject({ code: 'STORE_AWAY', inDoubt: true })
    expect(error.message).toMatch(/may or may not have been stored.*key/s)
    // The others were found dead with it: nobody has to find that out once more.
    const again = await engine.enqueue(quick, undefined, { key: 'k' })
    expect(again).toMatchObject({ id: first.id, created: false })
  })

  test('under an idle worker: it opens others, and runs what comes', async ({ place }) => {
    const { proxy, engine } = await behindProxy(place)
    const worker = engine.work()
    await worker.drained()
    proxy.silence(EVERY)
    const elsewhere = await place.open({ tasks: [quick] })
    const handle = await elsewhere.enqueue(quick)
    expect(await handle.result({ timeout: '20s' })).toBe('done')
    await worker.drained()
  })

  test('under an exchange: what it claimed is claimed again, and everything runs once', async ({ place }) => {
    const runs: string[] = []
    const task = defineTask({
      name: 'count',
      run(_: undefined, ctx) {
        runs.push(ctx.id)
      },
    })
    const { proxy, engine, problems } = await behindProxy(place, { tasks: [task] })
    const handles = await engine.enqueueMany(task, Array(20).fill(undefined))
    const lost = proxy.lose('hearing', CLAIMING)
    const worker = engine.work({ concurrency: 3 })
    await lost
    await worker.drained()
    expect(runs.sort()).toEqual(handles.map(({ id }) => id).sort())
    expect(problems.filter((told) => /silent/.test(told))).not.toEqual([])
  })

  test('of the keeper alone: it renews on another one, and the claim is kept', async ({ place }) => {
    const { task, runs, end } = held()
    const timings = { ...TIMINGS, lease: '8s' } as const
    const { proxy, engine } = await behindProxy(place, { tasks: [task], timings })
    const watcher = await place.open({ tasks: [task], timings })
    const lost: unknown[] = []
    watcher.on('worker-lost', (event) => lost.push(event))
    const handle = await engine.enqueue(task)
    engine.work()
    await place.until('it runs', () => runs.length === 1)
    watcher.work({ queues: ['nothing'] })
    const renewals = async () =>
      (await place.rows('SELECT max(renewals)::int AS count FROM gleaner.sessions'))[0].count
    await place.until('it was renewed', async () => (await renewals()) > 0)
    proxy.silence(RENEWING)
    const before = await renewals()
    await place.until('it is renewed for longer than a lease', async () => (await renewals()) >= before + 4)
    end()
    expect(await handle.result()).toBe(runs[0]!.fence)
    expect(runs).toHaveLength(1)
    expect(lost).toEqual([])
  })

  test('of the listener alone: another one listens', async ({ place }) => {
    const { proxy, engine } = await behindProxy(place, {
      timings: { ...TIMINGS, idleMin: '1m', idleMax: '1m' },
    })
    await engine.work().drained()
    const [before] = await place.listeners()
    proxy.silence(LISTENING)
    await place.until('another one listens', async () =>
      (await place.listeners()).some((pid) => pid !== before),
    )
    const elsewhere = await place.open({ tasks: [quick] })
    const handle = await elsewhere.enqueue(quick)
    expect(await handle.result({ timeout: '10s' })).toBe('done')
  })

  test.for([
    ['of the worker and its keeper', NONE],
    ['of the worker, whose keeper still reaches the server', RENEWING],
  ] as const)(
    '%s for longer than the lease: another worker takes over, and the first one goes on when it is heard again',
    async ([, spoken], { place }) => {
      const near = held()
      const { proxy, engine } = await behindProxy(place, { tasks: [near.task, quick] })
      const handle = await engine.enqueue(near.task)
      const worker = engine.work({ concurrency: 2 })
      await place.until('it runs', () => near.runs.length === 1)
      const far = held()
      const other = await place.open({ tasks: [far.task, quick], timings: TIMINGS })
      await place.until('it is renewed', async () =>
        (await place.rows('SELECT renewals FROM gleaner.sessions')).some(({ renewals }) => renewals > 0),
      )
      proxy.silenceAllBut(spoken)
      other.work({ concurrency: 1 })
      await place.until('the other one has it', () => far.runs.length === 1)
      expect(far.runs[0]!.fence).toBeGreaterThan(near.runs[0]!.fence)

      proxy.speak()
      await place.until('the first one hears of it', () => near.runs[0]!.lost !== undefined)
      expect(near.runs[0]!.lost).toMatchObject({ code: 'CLAIM_LOST' })
      near.end()
      // The other one is busy: only the first can take this.
      const next = await other.enqueue(quick)
      expect(await next.result({ timeout: '20s' })).toBe('done')
      far.end()
      expect(await handle.result()).toBe(far.runs[0]!.fence)
      await worker.drained()
    },
  )

  test('in the middle of a transaction: the server gives up at once what it has locked', async ({
    place,
  }) => {
    const proxy = await place.proxy()
    // The proxy goes on to acknowledge what the server sends: by itself, the server would find out after a minute.
    const at = { schema: place.schema, queryTimeoutMs: NOTICED_MS }
    const database = new Database({ url: proxy.url, ...at })
    place.atEnd(() => database.close())
    await place.createSchema()
    await place.rows('CREATE TABLE gleaner.locked (id int)')
    const working = database.transaction(async (sql) => {
      await sql.run(`LOCK TABLE ${place.schema}.locked`)
      proxy.silence(EVERY)
      await sql.run('SELECT 1')
    })
    await expect(working).rejects.toMatchObject({ code: 'STORE_AWAY' })
    const holders = `SELECT pid FROM pg_locks WHERE relation = to_regclass('${place.schema}.locked')`
    await place.until('nobody holds it', async () => (await place.rows(holders)).length === 0, 30_000)
  })

  test('is not what a statement that takes long waits on', async ({ place }) => {
    const database = new Database({ url: place.url, schema: place.schema, queryTimeoutMs: 4_000 })
    place.atEnd(() => database.close())
    const slept = database.unhurried.row('SELECT pg_sleep(5), 1 AS one')
    expect(await slept).toMatchObject({ one: 1 })
  })
})

test('the server notices, too, when a client is gone, and gives up what that has locked', async ({
  place,
}) => {
  const database = new Database({ url: place.url, schema: place.schema })
  place.atEnd(() => database.close())
  const settings = await database.sql.rows(
    `SELECT name, setting::int FROM pg_settings WHERE name LIKE 'tcp_keepalives%' OR name = 'tcp_user_timeout' ORDER BY 1`,
  )
  expect(settings).toEqual([
    { name: 'tcp_keepalives_count', setting: 2 },
    { name: 'tcp_keepalives_idle', setting: 10 },
    { name: 'tcp_keepalives_interval', setting: 5 },
    { name: 'tcp_user_timeout', setting: process.platform === 'linux' ? 20_000 : 0 },
  ])
})
