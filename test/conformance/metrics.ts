import { type Measured, MINUTE_MS } from '../../src/model/metrics.ts'
import { concurrency, limitKeys } from './limiting.ts'
import type { Theme } from './theme.ts'

const HOUR_MS = 60 * MINUTE_MS
const WEEK_MS = 7 * 24 * HOUR_MS

export const metrics: Theme = (specify, expect) => {
  specify('what is added in one minute is added up, whoever adds it', async (world) => {
    const other = await world.database.open()
    await world.store.admin.addMetrics([measured({ enqueued: 2, completed: 1, durations: [[10, 1]] })])
    await other.admin.addMetrics([
      measured({
        completed: 2,
        failed: 1,
        retried: 3,
        durations: [
          [10, 1],
          [11, 5],
        ],
      }),
      measured({ name: 'other', completed: 7 }),
    ])
    const { minutes } = await world.store.admin.readMetrics(HOUR_MS)
    expect(minutes).toHaveLength(2)
    expect(minutes.find(({ name }) => name === 'job')).toEqual({
      ...measured({
        enqueued: 2,
        completed: 3,
        failed: 1,
        retried: 3,
        durations: [
          [10, 2],
          [11, 5],
        ],
      }),
      incidents: new Map(),
      minute: Math.floor(world.clock.now() / MINUTE_MS) * MINUTE_MS,
    })
  })

  specify('what was ever added is added up without end, long after its minutes are gone', async (world) => {
    const incidents = new Map([['error', 2] as const, ['fenced', 1] as const])
    await world.store.admin.addMetrics([{ ...measured({ completed: 1, durations: [[10, 1]] }), incidents }])
    world.clock.advance(2 * WEEK_MS)
    await world.store.admin.addMetrics([
      { ...measured({ completed: 2, durations: [[10, 1]] }), incidents: new Map([['error', 1]]) },
    ])
    expect((await world.store.admin.readMetrics(4 * WEEK_MS)).minutes).toHaveLength(1)
    const [total] = await world.store.admin.readTotals()
    expect(total).toMatchObject({ name: 'job', completed: 3, durations: new Map([[10, 2]]) })
    expect(total!.incidents).toEqual(
      new Map([
        ['error', 3],
        ['fenced', 1],
      ]),
    )
  })

  specify('stores that add to the same minute at the same time lose nothing', async (world) => {
    const stores = [world.store, await world.database.open(), await world.database.open()]
    const names = ['a', 'b', 'c']
    await Promise.all(
      Array.from({ length: 30 }, (_, i) => {
        const inTurn = i % 2 ? names : names.toReversed()
        return stores[i % 3]!.admin.addMetrics(
          inTurn.map((name) => measured({ name, completed: 1, durations: [[i % 4, 1]] })),
        )
      }),
    )
    const { minutes } = await world.store.admin.readMetrics(HOUR_MS)
    expect(minutes.map(({ completed }) => completed)).toEqual([30, 30, 30])
    for (const { durations } of minutes) {
      expect([...durations.values()].reduce((sum, count) => sum + count, 0)).toBe(30)
    }
  })

  specify('with what was measured it is written down how many tasks are unfinished', async (world) => {
    const left = async (windowMs: number) =>
      (await world.store.admin.readLevels(null, windowMs)).map((level) => level.left)
    expect(await left(HOUR_MS)).toEqual([])
    const ids = await world.enqueueMany(5)
    await world.store.admin.addMetrics([measured({ enqueued: 5 })])
    const worker = await world.worker()
    const [claim] = await worker.claim(1)
    await worker.complete(claim!)
    await world.store.admin.addMetrics([])
    world.clock.advance(MINUTE_MS)
    await world.store.tasks.cancelTask(ids.at(-1)!)
    await world.enqueue({ runAfter: { ms: 60_000 } })
    await world.store.tasks.removeTask(ids.at(-2)!)
    await world.store.admin.addMetrics([])
    // The last of each minute.
    expect(await left(HOUR_MS)).toEqual([4, 3])
    world.clock.advance(2 * HOUR_MS)
    expect(await left(HOUR_MS)).toEqual([3])
    expect((await world.store.admin.readMetrics(24 * HOUR_MS)).minutes).toHaveLength(1)
    world.clock.advance(WEEK_MS)
    await world.store.admin.addMetrics([])
    // What is older than a week is gone, but for the last of it.
    expect(await left(4 * WEEK_MS)).toEqual([3, 3])
  })

  specify('of rows that are left what is new is written down, with how many were done', async (world) => {
    const row = { ...measured({ name: 'tag-files', completed: 7 }), queue: ':rows' }
    const levels = async () =>
      (await world.store.admin.readLevels('tag-files', HOUR_MS)).map(({ left, done }) => [left, done])
    await world.store.admin.noteRowsLeft('tag-files', 10)
    // Right after another look, and one that has found nothing new.
    await world.store.admin.noteRowsLeft('tag-files', 11)
    world.clock.advance(5 * MINUTE_MS)
    await world.store.admin.noteRowsLeft('tag-files', 10)
    expect(await levels()).toEqual([[10, 0]])
    await world.store.admin.addMetrics([row])
    await world.store.admin.noteRowsLeft('tag-files', 10)
    await world.store.admin.noteRowsLeft('other', 1)
    expect(await levels()).toEqual([
      [10, 0],
      [10, 7],
    ])
  })

  specify('each minute is kept by itself, and read as far back as is asked for', async (world) => {
    for (let minute = 0; minute < 4; minute++) {
      await world.store.admin.addMetrics([measured({ completed: minute })])
      world.clock.advance(MINUTE_MS)
    }
    const completed = async (windowMs: number) =>
      (await world.store.admin.readMetrics(windowMs)).minutes.map((one) => one.completed).sort()
    expect(await completed(HOUR_MS)).toEqual([0, 1, 2, 3])
    expect(await completed(3 * MINUTE_MS)).toEqual([2, 3])
  })

  specify('minutes older than a week are taken away, a few hundred at a time', async (world) => {
    const many = Array.from({ length: 700 }, (_, i) => measured({ name: `n${i}`, completed: 1 }))
    await world.store.admin.addMetrics(many)
    world.clock.advance(WEEK_MS + 2 * MINUTE_MS)
    const kept = async () => (await world.store.admin.readMetrics(2 * WEEK_MS)).minutes.length
    expect(await kept()).toBe(700)
    await world.store.admin.addMetrics([measured({ completed: 1 })])
    expect(await kept()).toBe(201)
    await world.store.admin.addMetrics([measured({ completed: 1 })])
    expect(await kept()).toBe(1)
  })

  specify(
    'what there is now is told for each name in each queue, with the one that waits longest',
    async (world) => {
      const start = world.clock.now()
      await world.enqueue({ name: 'a', queue: 'x', priority: 500 })
      world.clock.advance(1_000)
      await world.enqueueMany(2, { name: 'a', queue: 'x' })
      await world.enqueue({ name: 'a', queue: 'x', runAfter: { ms: 60_000 } })
      await world.enqueue({ name: 'b', queue: 'x', runAfter: { ms: 60_000 } })
      const worker = await world.worker({ names: ['a'], queues: ['x'] })
      await worker.claim(1)
      const { now, present } = await world.store.admin.readMetrics(HOUR_MS)
      expect(now).toBe(start + 1_000)
      expect([...present].sort((a, b) => (a.name < b.name ? -1 : 1))).toEqual([
        { queue: 'x', name: 'a', scheduled: 1, queued: 2, running: 1, suspended: 0, waitingSince: start },
        { queue: 'x', name: 'b', scheduled: 1, queued: 0, running: 0, suspended: 0, waitingSince: null },
      ])
    },
  )

  specify('what waits is told with what it requires, and who is there to do it', async (world) => {
    await world.enqueueMany(2, { name: 'a', queue: 'x', requires: { gpu: true } })
    await world.enqueue({ name: 'a', queue: 'x' })
    await world.enqueue({ name: 'b', queue: 'x', runAfter: { ms: 60_000 } })
    const gone = await world.worker({ queues: ['x'] })
    await world.store.sessions.endSession(gone.session, 'stop')
    await world.worker({ queues: ['y'], names: ['a'], capabilities: { gpu: true } })
    const { waiting, workers } = await world.store.admin.demand()
    expect([...waiting].sort((a, b) => a.count - b.count)).toEqual([
      { queue: 'x', name: 'a', requires: null, count: 1 },
      { queue: 'x', name: 'a', requires: { gpu: true }, count: 2 },
    ])
    expect(workers.map(({ queues, names, capabilities }) => ({ queues, names, capabilities }))).toEqual([
      { queues: ['y'], names: ['a'], capabilities: { gpu: true } },
    ])
  })

  specify('tasks of a limit key are part of what there is and of what waits', async (world) => {
    await limitKeys(world, concurrency(1))
    await world.enqueue({ limitKey: 'a' })
    await world.enqueue({ limitKey: 'b' })
    await world.enqueue({ runAfter: { ms: 60_000 } })
    const { present } = await world.store.admin.readMetrics(HOUR_MS)
    const sumOf = (state: 'scheduled' | 'queued') => present.reduce((sum, one) => sum + one[state], 0)
    expect([sumOf('scheduled'), sumOf('queued')]).toEqual([1, 2])
    const { waiting } = await world.store.admin.demand()
    expect(waiting.reduce((sum, { count }) => sum + count, 0)).toBe(2)
  })
}

function measured({
  durations = [],
  ...some
}: Partial<Omit<Measured, 'durations'>> & { durations?: [number, number][] }): Measured {
  const none = { enqueued: 0, completed: 0, failed: 0, retried: 0 }
  return { queue: 'default', name: 'job', ...none, ...some, durations: new Map(durations) }
}
