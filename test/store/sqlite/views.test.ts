import { expect, test } from 'vitest'
import { ManualClock } from '../../../src/testing/manual-clock.ts'
import { Claimant } from '../../conformance/claimant.ts'
import { newTask } from '../../conformance/world.ts'
import { connect, freshPath, openStore } from './folder.ts'

const MINUTE_MS = 60_000

/** The views know SQLite's own clock: the store's stands a few minutes before it, so that all is in the past. */
async function populated() {
  const path = freshPath()
  const clock = new ManualClock(Math.floor(Date.now() / MINUTE_MS) * MINUTE_MS - 10 * MINUTE_MS)
  const store = await openStore(path, { clock })
  const openedAt = clock.now()
  const worker = await new Claimant(store, clock, { names: ['a', 'b'], queues: ['x'] }).begin()
  const raw = connect(path)
  const all = (sql: string) => raw.prepare(sql).all()

  await store.tasks.enqueue([newTask({ name: 'a', queue: 'x' }), newTask({ name: 'b', queue: 'x' })])
  const [done, failing] = await worker.claim(2)
  await worker.complete(done!)
  clock.advance(MINUTE_MS)
  await worker.fail(failing!, null, 'permanent')
  const since = clock.now()
  await store.tasks.enqueue([
    newTask({ name: 'a', queue: 'x', priority: 500 }),
    newTask({ name: 'a', queue: 'x', runAfter: { ms: 100 } }),
    newTask({ name: 'a', queue: 'x', runAfter: { ms: 3_600_000 } }),
    newTask({ name: 'a', queue: 'y' }),
  ])
  const [cancelled] = await store.tasks.enqueue([newTask({ name: 'a', queue: 'x' })])
  await store.tasks.cancelTask(cancelled!.id)
  clock.advance(10)
  await store.tasks.enqueue([
    newTask({ name: 'a', queue: 'x', priority: 1 }),
    newTask({ name: 'b', queue: 'x' }),
  ])
  return { store, clock, worker, openedAt, since, all, failing: failing! }
}

test('gleaner_queue_depth says what listQueues says', async () => {
  const { store, clock, worker, all } = await populated()
  await worker.claim(1, 1)
  await store.admin.setPaused('y', true)
  // From here on both clocks agree on what is due.
  clock.advance(Date.now() - clock.now())
  const expected = async () =>
    (await store.admin.listQueues()).map(
      ({ name, paused, strategy: _, ageingMs: __, chosen: ___, ...counts }) => ({
        queue: name,
        paused: paused ? 1 : 0,
        ...counts,
      }),
    )
  expect(all('SELECT * FROM gleaner_queue_depth ORDER BY queue')).toEqual(await expected())
  expect(await expected()).toMatchObject([
    { queue: 'x', scheduled: 1, queued: 3, running: 1, completed: 1, failed: 1, cancelled: 1 },
    { queue: 'y', paused: 1, queued: 1 },
  ])
  await store.admin.setPaused(null, true)
  expect(all('SELECT * FROM gleaner_queue_depth ORDER BY queue')).toEqual(await expected())
})

test('gleaner_throughput counts what finished in each minute of the last hour', async () => {
  const { openedAt, all } = await populated()
  const minute = (n: number) => openedAt + n * MINUTE_MS
  expect(all('SELECT * FROM gleaner_throughput ORDER BY minute, status')).toEqual([
    { queue: 'x', name: 'a', status: 'completed', minute: minute(0), tasks: 1 },
    { queue: 'x', name: 'a', status: 'cancelled', minute: minute(1), tasks: 1 },
    { queue: 'x', name: 'b', status: 'failed', minute: minute(1), tasks: 1 },
  ])
})

test('gleaner_failures names what failed and why', async () => {
  const { failing, since, all } = await populated()
  expect(all('SELECT * FROM gleaner_failures')).toEqual([
    {
      id: Number(failing.id),
      queue: 'x',
      name: 'b',
      kind: 'permanent',
      message: 'no',
      attempts: 1,
      crashes: 0,
      finished_at: since,
    },
  ])
})

test('gleaner_oldest tells since when the longest waiting task of each queue waits', async () => {
  const { since, all } = await populated()
  const rows = all('SELECT * FROM gleaner_oldest ORDER BY queue') as Record<string, number>[]
  expect(rows).toMatchObject([
    { queue: 'x', waiting_since: since },
    { queue: 'y', waiting_since: since },
  ])
  for (const { waiting_ms } of rows) {
    expect(waiting_ms).toBeGreaterThan(8 * MINUTE_MS)
    expect(waiting_ms).toBeLessThan(15 * MINUTE_MS)
  }
})

test.each([
  ['fifo', null],
  ['lifo', null],
  ['priority', 60_000],
  ['weighted', null],
] as const)('gleaner_oldest tells it of a queue by %s (ageing %s), too', async (strategy, ageingMs) => {
  const { store, since, all } = await populated()
  await store.admin.configureQueues([{ name: 'x', ordering: { strategy, ageingMs } }])
  while (await store.maintenance.rerank());
  expect(all('SELECT queue, waiting_since FROM gleaner_oldest ORDER BY queue')).toEqual([
    { queue: 'x', waiting_since: since },
    { queue: 'y', waiting_since: since },
  ])
})

test('gleaner_workers shows who is alive and how much each holds', async () => {
  const { store, clock, worker, openedAt, all } = await populated()
  await worker.claim(1, 1)
  const gone = await new Claimant(store, clock, { worker: 'worker:gone:0' }).begin()
  await gone.end('stop')
  expect(all('SELECT worker, pid, queues, opened_at, held FROM gleaner_workers')).toEqual([
    { worker: worker.worker, pid: process.pid, queues: '["x"]', opened_at: openedAt, held: 2 },
  ])
})
