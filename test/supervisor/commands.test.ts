import { expect } from 'vitest'
import { NO_RESTARTS } from '../../src/model/restart.ts'
import { until } from '../until.ts'
import { pool, TORTURE, test } from './estate.ts'
import { blocking, hoard, quick, untilThere } from './tasks.ts'

/** Commands arrive within that; where a machine may be busy with other tests, it only has to be seconds. */
const COMMAND_WITHIN_MS = TORTURE ? 2_000 : 10_000

test('whoever looks at the database sees supervised workers, and those inside a program', async ({
  estate,
}) => {
  const gleaner = await estate.gleaner()
  const supervisor = await estate.supervise({ pools: [pool({ processes: 2 })] })
  const { pid } = await estate.worker(supervisor, { status: 'running' }, 'worker:main:1')
  const inside = gleaner.work()
  await until('all three are listed', async () => {
    const workers = await gleaner.workers.list()
    return workers.length === 3 && workers.every(({ status }) => status === 'running')
  })
  const workers = await gleaner.workers.list()
  expect(workers[1]).toMatchObject({
    id: 'worker:main:1',
    pool: 'main',
    health: 'healthy',
    phase: 'idle',
    pid,
  })
  expect(workers[2]).toMatchObject({ id: inside.id, pool: '', health: 'healthy', pid: process.pid })
})

test('a pause asked for elsewhere lets the current item finish and nothing else start, and outlives the supervisor', async ({
  estate,
}) => {
  const gleaner = await estate.gleaner()
  const supervisor = await estate.supervise()
  const current = await gleaner.enqueue(untilThere, { file: estate.file('go') })
  const { pid } = await estate.hears('running')
  const next = await gleaner.enqueue(quick, 1)
  const askedMs = performance.now()
  await gleaner.workers.pause()
  await estate.worker(supervisor, { status: 'paused', health: 'healthy', pid })
  expect(performance.now() - askedMs).toBeLessThan(COMMAND_WITHIN_MS)
  estate.touch('go')
  expect(await current.result()).toBe(pid)
  await estate.worker(supervisor, ({ phase, current }) => phase === 'paused' && current.length === 0)
  await supervisor.stop()

  const second = await estate.supervise()
  await estate.worker(second, { status: 'paused' })
  expect(await gleaner.tasks.get(next.id)).toMatchObject({ status: 'queued', attempts: 0 })
  await gleaner.workers.resume()
  expect(await next.result()).toBe(1)
})

test('a worker is paused when it says so: from then on nothing starts, however late it heard of it', async ({
  estate,
}) => {
  const gleaner = await estate.gleaner()
  const supervisor = await estate.supervise()
  // It learns that these are short: from now on it holds some ahead, which start without a turn of the event loop.
  const warm = await gleaner.enqueueMany(quick, Array(50).fill(0))
  await Promise.all(warm.map((handle) => handle.result()))
  await gleaner.queues.pause('default')
  const long = await gleaner.enqueue(blocking, { ms: 1_000 }, { priority: 1 })
  const many = await gleaner.enqueueMany(quick, Array(500).fill(1))
  await gleaner.queues.resume('default')
  const { pid } = await estate.hears('running', ({ name }) => name === 'blocking')
  await estate.worker(supervisor, { status: 'running' })
  // Its event loop is blocked: it cannot know yet.
  supervisor.pause()
  expect(supervisor.workers()).toMatchObject([{ status: 'running' }])
  const paused = await estate.worker(supervisor, { status: 'paused', pid })
  const pausedAt = Date.now()
  expect(paused.current).toEqual([])
  expect(await long.result()).toBe(pid)
  await estate.worker(supervisor, { phase: 'paused' })
  await supervisor.stop()
  const { queued, completed } = await gleaner.tasks.counts()
  expect(queued + completed).toBe(warm.length + many.length + 1)
  const starts = await estate.until('all of them are heard', () => {
    const heard = estate.said('running')
    return heard.length === completed ? heard : undefined
  })
  expect(starts.filter(({ at }) => at > pausedAt)).toEqual([])
})

test('one worker can be paused; a worker that nobody knows cannot', async ({ estate }) => {
  const gleaner = await estate.gleaner()
  const supervisor = await estate.supervise({ pools: [pool({ processes: 2 })] })
  await estate.worker(supervisor, { status: 'running' }, 'worker:main:0')
  await until('the registry tells of it', async () => (await gleaner.workers.list()).length === 2)
  await gleaner.workers.pause('worker:main:1')
  await estate.worker(supervisor, { status: 'paused' }, 'worker:main:1')
  expect(supervisor.workers()[0]).toMatchObject({ status: 'running' })
  await expect(gleaner.workers.pause('worker:main:9')).rejects.toMatchObject({ code: 'UNKNOWN_WORKER' })
  expect(() => supervisor.pause('worker:main:9')).toThrow(expect.objectContaining({ code: 'UNKNOWN_WORKER' }))
})

test('a resume of everything starts a worker that was given up, and ends a pause that an older release wrote down', async ({
  estate,
}) => {
  const gleaner = await estate.gleaner()
  await (await estate.supervise({ pools: [] })).stop()
  const db = estate.place.connect()
  const record = { id: 'worker:main:0', lastExit: null, incarnation: 1 }
  const state = { id: record.id, restart: NO_RESTARTS, paused: true, failed: 'it crashed too often', record }
  db.prepare('UPDATE gleaner_supervisors SET workers = ?').run(JSON.stringify([state]))
  const supervisor = await estate.supervise()
  await estate.worker(supervisor, { status: 'failed', health: 'failed' })
  await gleaner.resume()
  await estate.worker(supervisor, { status: 'running', health: 'healthy' })
  expect(await (await gleaner.enqueue(quick, 1)).result()).toBe(1)
  // It is about no worker in particular.
  expect((await estate.logged('command: revive')).worker).toBeUndefined()
})

test('a rolling restart leaves no gap: the new process is ready before the old one goes, and no task fails', async ({
  estate,
}) => {
  const gleaner = await estate.gleaner()
  const supervisor = await estate.supervise({ pools: [pool({ concurrency: 2 })] })
  const { pid } = await estate.worker(supervisor, { status: 'running' })
  const long = await gleaner.enqueue(untilThere, { file: estate.file('go') })
  await estate.hears('running')
  await gleaner.workers.restart()
  const replaced = await estate.worker(
    supervisor,
    (worker) => worker.pid !== pid && worker.health === 'healthy',
  )
  expect(replaced).toMatchObject({ status: 'running', restarts: { recent: 0, total: 0 } })
  // The old one still has its item; the new one already works.
  expect(await (await gleaner.enqueue(quick, 1)).result()).toBe(1)
  estate.touch('go')
  expect(await long.result()).toBe(pid)
  const ended = await estate.logged('worker ended', (logged) => logged.pid === pid)
  expect(ended).toMatchObject({ code: 0, message: 'worker ended: replaced' })
  expect(await gleaner.tasks.get(long.id)).toMatchObject({ attempts: 1 })
})

test('a replacement that does not become ready leaves the old process in its place', async ({ estate }) => {
  const gleaner = await estate.gleaner()
  const supervisor = await estate.supervise()
  const { pid } = await estate.worker(supervisor, { status: 'running' })
  estate.breaks('start main')
  await expect(supervisor.restart()).rejects.toThrow('did not become ready')
  expect(await (await gleaner.enqueue(quick, 1)).result()).toBe(1)
  expect(supervisor.workers()).toMatchObject([{ pid, status: 'running', restarts: { total: 0 } }])
})

test('a worker that has grown too large, or has run enough, is replaced between two items', async ({
  estate,
}) => {
  const gleaner = await estate.gleaner()
  const supervisor = await estate.supervise({
    pools: [pool({ maxRss: 400e6 }), pool({ name: 'few', queues: ['few'], maxItems: 3 })],
  })
  const large = await estate.worker(supervisor, { status: 'running' })
  const few = await estate.worker(supervisor, { status: 'running' }, 'worker:few:0')
  await (await gleaner.enqueue(hoard, { bytes: 400e6 })).result()
  await gleaner.enqueueMany(quick, [1, 2, 3], { queue: 'few' })
  for (const { id, pid } of [large, few]) {
    const record = await estate.worker(
      supervisor,
      (worker) => worker.pid !== pid && worker.status === 'running',
      id,
    )
    expect(record.restarts).toEqual({ recent: 0, total: 0 })
  }
  expect((await estate.logged('is being replaced', ({ worker }) => worker === large.id)).why).toContain(
    'memory',
  )
})
