import { expect } from 'vitest'
import { defineTask, type Gleaner, StoreError } from '../../../src/index.ts'
import { counts } from '../../conformance/world.ts'
import { type Place, test } from './place.ts'

/** What a restart of the server does to everybody on this schema; answers how many connections it cut. */
async function cutAll(place: Place): Promise<number> {
  const cut = await place.rows(
    `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
     WHERE application_name = 'gleaner' AND pid <> pg_backend_pid() AND query LIKE $1`,
    [`%${place.schema}%`],
  )
  return cut.length
}

function problemsOf(engine: Gleaner): { message: string; error: unknown }[] {
  const problems: { message: string; error: unknown }[] = []
  engine.on('problem', (problem) => problems.push(problem))
  return problems
}

test('all connections cut in the middle of the work: it is told of, nothing is lost, every task ends', async ({
  place,
}) => {
  const runs = new Map<string, number>()
  const work = defineTask({
    name: 'work',
    async run(_: undefined, ctx) {
      runs.set(ctx.id, (runs.get(ctx.id) ?? 0) + 1)
      await new Promise(setImmediate)
    },
  })
  const proxy = await place.proxy()
  const engine = await place.open({ database: proxy.url, tasks: [work], timings: { lease: '3s' } })
  const problems = problemsOf(engine)
  const handles = await engine.enqueueMany(work, Array(2_000).fill(undefined))
  const worker = engine.work({ concurrency: 5 })
  for (let round = 0; round < 3; round++) {
    // One is cut in the middle of its transaction, the others wherever they are.
    await proxy.lose('question', /SET status = 'completed'/)
    await place.until('somebody is cut', async () => (await cutAll(place)) > 0)
  }
  await Promise.all(handles.map((handle) => handle.result({ timeout: '50s' })))
  await worker.drained()
  expect(problems.length).toBeGreaterThanOrEqual(3)
  for (const { error } of problems) if (error instanceof Error) expect(error).toBeInstanceOf(StoreError)
  // Nobody else claimed any of it: whoever was run, was run once.
  expect([...runs.values()].filter((count) => count !== 1)).toEqual([])
  expect(runs.size).toBe(2_000)
  expect(await engine.tasks.counts()).toEqual(counts({ completed: 2_000 }))
})

test('a handler that runs while the server is away keeps its claim, and its result is handed in later', async ({
  place,
}) => {
  const gate = Promise.withResolvers<string>()
  const started = Promise.withResolvers<void>()
  const slow = defineTask({
    name: 'slow',
    run() {
      started.resolve()
      return gate.promise
    },
  })
  const engine = await place.open({ tasks: [slow], timings: { lease: '3s' } })
  const problems = problemsOf(engine)
  const worker = engine.work()
  const handle = await engine.enqueue(slow)
  await started.promise
  // Nobody gets in for a while.
  await cutAll(place)
  gate.resolve('kept')
  await place.until('the cut is noticed', async () => {
    await cutAll(place)
    return problems.length > 0
  })
  expect(await handle.result({ timeout: '30s' })).toBe('kept')
  await worker.drained()
  expect(await engine.tasks.get(handle.id)).toMatchObject({ status: 'completed', attempts: 1 })
})

test('the keeper renews on a connection of its own, while all others are blocked', async ({ place }) => {
  const started = Promise.withResolvers<void>()
  const gate = Promise.withResolvers<void>()
  const hold = defineTask({
    name: 'hold',
    retry: { attempts: 1 },
    run: (_: undefined, ctx) =>
      ctx.complete('held', async () => {
        started.resolve()
        await gate.promise
      }),
  })
  // Two connections, and both are taken by transactions that wait.
  const engine = await place.open({
    tasks: [hold],
    timings: { lease: '900ms', sweep: '50ms' },
    postgres: { poolSize: 2 },
  })
  const problems = problemsOf(engine)
  engine.work({ concurrency: 2 })
  const handles = await engine.enqueueMany(hold, [undefined, undefined])
  await started.promise
  const watcher = await place.open({ tasks: [hold], timings: { lease: '900ms', sweep: '50ms' } })
  watcher.work({ queues: ['nothing'] })
  const lost: unknown[] = []
  watcher.on('worker-lost', (event) => lost.push(event))
  const renewals = async () =>
    (await place.rows('SELECT min(id), renewals::int FROM gleaner.sessions GROUP BY id ORDER BY 1'))[0]
      .renewals
  const before = await renewals()
  // Longer than the lease: three renewals make one.
  await place.until('a lease passes', async () => (await renewals()) >= before + 4)
  gate.resolve()
  expect(await Promise.all(handles.map((handle) => handle.result()))).toEqual(['held', 'held'])
  expect(lost).toEqual([])
  expect(problems).toEqual([])
})

test('a session that nobody renews is ended by the clock of the server, and its work goes on elsewhere', async ({
  place,
}) => {
  const job = defineTask({ name: 'job', run: () => 'done' })
  const store = await place.store()
  const engine = await place.open({ tasks: [job], timings: { lease: '2s', sweep: '50ms' } })
  const handle = await engine.enqueue(job)
  // A worker of another machine, of which nothing is heard any more.
  const session = await store.sessions.openSession({
    worker: 'worker:far:0',
    process: { host: 'far', boot: 'far', pid: 1, startTime: null },
    queues: ['default'],
    names: [],
    capabilities: {},
  })
  const { claims } = await store.tasks.exchange({
    session,
    starts: [],
    outcomes: [],
    progress: [],
    logs: [],
    want: {
      able: { queues: ['default'], names: ['job'], capabilities: {} },
      start: 1,
      ahead: 0,
      empty: true,
    },
  })
  expect(claims).toMatchObject([{ id: handle.id }])
  const lost = new Promise((resolve) => engine.on('worker-lost', resolve))
  engine.work()
  expect(await lost).toMatchObject({ worker: 'worker:far:0', cause: 'lease', returned: 1 })
  expect(await handle.result()).toBe('done')
  expect(await engine.tasks.get(handle.id)).toMatchObject({ attempts: 2, crashes: 0 })
})

test('a worker that stops while the server dies gives back what it held as soon as the server is there', async ({
  place,
}) => {
  const endless = defineTask({ name: 'endless', run: () => new Promise(() => {}) })
  const proxy = await place.proxy()
  // No sweeper ends its session, and its lease is longer than the test.
  const timings = { lease: '10m', sweep: '1h' } as const
  const engine = await place.open({ database: proxy.url, tasks: [endless], timings })
  const problems = problemsOf(engine)
  const worker = engine.work()
  const held = await engine.enqueue(endless)
  await place.until('it runs', async () => (await engine.tasks.counts()).running === 1)
  const died = proxy.lose('question', /sessions SET ended_at/)
  await Promise.all([died, worker.stop({ drain: 1 })])
  expect(problems).toEqual([])
  expect(await engine.tasks.get(held.id)).toMatchObject({ status: 'queued', attempts: 0 })
})
