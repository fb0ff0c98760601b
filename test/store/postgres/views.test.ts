import { describe, expect } from 'vitest'
import { ManualClock } from '../../../src/testing/manual-clock.ts'
import { Claimant } from '../../conformance/claimant.ts'
import { newTask } from '../../conformance/world.ts'
import { type Place, testMigrated as test } from './place.ts'

const MINUTE_MS = 60_000

/** The views know the server's clock: the store's stands a few minutes before it, so that all is in the past. */
async function populated(place: Place) {
  const clock = new ManualClock(Math.floor(Date.now() / MINUTE_MS) * MINUTE_MS - 10 * MINUTE_MS)
  const store = await place.store({ clock })
  const openedAt = clock.now()
  const worker = await new Claimant(store, clock, { names: ['a', 'b'], queues: ['x'] }).begin()
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
  return { store, clock, worker, openedAt, since, failing: failing! }
}

/** `pg` gives large numbers as strings. */
const numbers = (rows: any[]) =>
  rows.map((row) =>
    Object.fromEntries(
      Object.entries(row).map(([name, value]) => [
        name,
        typeof value === 'string' && /^-?\d+$/.test(value) ? Number(value) : value,
      ]),
    ),
  )

describe('the views', () => {
  test('queue_depth says what listQueues says, also of a pause of everything', async ({ place }) => {
    const { store, clock, worker } = await populated(place)
    await worker.claim(1, 1)
    await store.admin.setPaused('y', true)
    // From here on both clocks agree on what is due.
    clock.advance(Date.now() - clock.now())
    const seen = async () => numbers(await place.rows('SELECT * FROM gleaner.queue_depth ORDER BY queue'))
    const expected = async () =>
      (await store.admin.listQueues()).map(({ name, strategy: _, ageingMs: __, chosen: ___, ...rest }) => ({
        queue: name,
        ...rest,
      }))
    expect(await seen()).toEqual(await expected())
    expect(await seen()).toMatchObject([
      {
        queue: 'x',
        paused: false,
        scheduled: 1,
        queued: 3,
        running: 1,
        completed: 1,
        failed: 1,
        cancelled: 1,
      },
      { queue: 'y', paused: true, queued: 1 },
    ])
    await store.admin.setPaused(null, true)
    expect(await seen()).toEqual(await expected())
  })

  test('lane_counts adds up to what countTasks says, before and after the tallies are summed up', async ({
    place,
  }) => {
    const { store, clock } = await populated(place)
    clock.advance(Date.now() - clock.now())
    const sums = async () =>
      numbers(
        await place.rows(
          `SELECT sum(scheduled) AS scheduled, sum(queued) AS queued, sum(running) AS running,
             sum(suspended) AS suspended, sum(completed) AS completed, sum(failed) AS failed, sum(cancelled) AS cancelled FROM gleaner.lane_counts`,
        ),
      )[0]
    const before = await store.tasks.countTasks({})
    expect(await sums()).toEqual(before)
    await place.until(
      'the tallies are summed up',
      async () => (await place.rows('SELECT 1 FROM gleaner.tallies')).length === 0,
    )
    expect(await sums()).toEqual(before)
    expect(await store.tasks.countTasks({})).toEqual(before)
  })

  test('throughput counts what finished in each minute of the last hour', async ({ place }) => {
    const { openedAt } = await populated(place)
    const rows = numbers(await place.rows('SELECT * FROM gleaner.throughput ORDER BY minute, name, status'))
    expect(rows).toEqual([
      { queue: 'x', name: 'a', status: 'completed', minute: openedAt, tasks: 1 },
      { queue: 'x', name: 'a', status: 'cancelled', minute: openedAt + MINUTE_MS, tasks: 1 },
      { queue: 'x', name: 'b', status: 'failed', minute: openedAt + MINUTE_MS, tasks: 1 },
    ])
  })

  test('failures says what failed, and why', async ({ place }) => {
    const { failing, since } = await populated(place)
    expect(numbers(await place.rows('SELECT * FROM gleaner.failures'))).toEqual([
      {
        id: Number(failing.id),
        queue: 'x',
        name: 'b',
        kind: 'permanent',
        message: expect.any(String),
        attempts: 1,
        crashes: 0,
        finished_at: since,
      },
    ])
  })

  test('failures shows a message that PostgreSQL could not hold', async ({ place }) => {
    const clock = new ManualClock(Date.now() - MINUTE_MS)
    const store = await place.store({ clock })
    const worker = await new Claimant(store, clock, { names: ['a'], queues: ['x'] }).begin()
    await store.tasks.enqueue([newTask({ name: 'a', queue: 'x' })])
    const [claim] = await worker.claim(1)
    const failure = { kind: 'error', message: 'a\0b', stack: null } as const
    await worker.settle(claim!, { kind: 'failed', failure, retryAfterMs: null })
    expect(await place.rows('SELECT message FROM gleaner.failures')).toEqual([{ message: 'a?b' }])
    expect((await store.tasks.getTask(claim!.id))?.error).toMatchObject({ message: 'a\0b' })
  })

  test('oldest says since when the longest waiting one of each queue waits, whatever its priority', async ({
    place,
  }) => {
    const { since } = await populated(place)
    const rows = numbers(await place.rows('SELECT * FROM gleaner.oldest ORDER BY queue'))
    expect(rows).toEqual([
      { queue: 'x', waiting_since: since, waiting_ms: expect.any(Number) },
      { queue: 'y', waiting_since: since, waiting_ms: expect.any(Number) },
    ])
    expect(rows[0]!.waiting_ms).toBeGreaterThan(MINUTE_MS)
  })

  test('workers says who lives, and how much each holds', async ({ place }) => {
    const { worker, store, clock, openedAt } = await populated(place)
    await worker.claim(1, 1)
    const gone = await new Claimant(store, clock, { worker: 'worker:gone:0' }).begin()
    await gone.end('stop')
    expect(numbers(await place.rows('SELECT * FROM gleaner.workers'))).toMatchObject([
      { pid: process.pid, queues: '["x"]', opened_at: openedAt, held: 2 },
    ])
  })
})
