import { describe, expect } from 'vitest'
import { defineTask, PermanentError, TaskGone } from '../../src/index.ts'
import { nextLimit, Pruner } from '../../src/maintenance/pruner.ts'
import { pruningOf, type RetentionOptions, retentionOf } from '../../src/maintenance/retention.ts'
import { sizeAfter } from '../../src/model/retention.ts'
import type { Pruned, PruneStep } from '../../src/store/ports/maintenance.ts'
import { ManualClock } from '../../src/testing/manual-clock.ts'
import { test } from '../testing/open-test.ts'

const DAY_MS = 86_400_000
const good = defineTask({ name: 'good', run: async () => 'done' })
const bad = defineTask({
  name: 'bad',
  run: async () => {
    throw new PermanentError('no')
  },
})
const tasks = [good, bad]

describe('retention', () => {
  test('completed tasks stay 7 days, failed ones 30, cancelled ones 7', async ({ open }) => {
    const t = await open({ tasks, retention: {} })
    await t.enqueue(good)
    await t.enqueue(bad)
    const delayed = await t.enqueue(good, undefined, { runAfter: '365d' })
    await delayed.cancel()
    await t.runUntilIdle()
    await t.advance('6d')
    expect(await t.tasks.counts()).toMatchObject({ completed: 1, failed: 1, cancelled: 1 })
    await t.advance('25h')
    expect(await t.tasks.counts()).toMatchObject({ completed: 0, failed: 1, cancelled: 0 })
    await t.advance('23d')
    expect(await t.tasks.counts()).toMatchObject({ completed: 0, failed: 0, cancelled: 0 })
  })

  test('what is kept for ever, by status or altogether, stays', async ({ open }) => {
    const failures = await open({ tasks, retention: { failed: false } })
    const everything = await open({ tasks, retention: false })
    for (const t of [failures, everything]) {
      await t.enqueue(good)
      await t.enqueue(bad)
      await t.advance('100d')
    }
    expect(await failures.tasks.counts()).toMatchObject({ completed: 0, failed: 1 })
    expect(await everything.tasks.counts()).toMatchObject({ completed: 1, failed: 1 })
  })

  test('of each queue the newest stay', async ({ open }) => {
    const other = defineTask({ name: 'other', queue: 'other', run: async () => 'done' })
    const t = await open({ tasks: [good, other], retention: { completed: { count: 3 } } })
    for (let n = 0; n < 5; n++) {
      await t.enqueue(good)
      await t.enqueue(other)
      await t.advance('1s')
    }
    await t.advance('2h')
    for (const queue of ['default', 'other'])
      expect(await t.tasks.counts({ queue }), queue).toMatchObject({ completed: 3 })
  })

  test('thousands go in small steps, and whoever asks for one of them hears that it is gone', async ({
    open,
  }) => {
    const t = await open({ tasks, retention: { completed: '1d' } })
    const [first] = await t.enqueueMany(good, Array(3_000).fill(undefined))
    await t.runUntilIdle()
    expect(await first!.result()).toBe('done')
    await t.advance('26h')
    expect(await t.tasks.counts()).toMatchObject({ completed: 0 })
    await expect(first!.result()).rejects.toBeInstanceOf(TaskGone)
    expect(await t.maintenance.check()).toEqual([])
  })
})

test('a test that moves the time keeps everything, unless it says otherwise', async ({ open }) => {
  const t = await open({ tasks })
  await t.enqueue(good)
  await t.advance('60d')
  expect(await t.completed(good)).toHaveLength(1)
})

describe('prune', () => {
  test('removes by what it is told alone, or by the retention', async ({ open }) => {
    const t = await open({ tasks, retention: { completed: '1d', failed: '2d' } })
    await t.enqueueMany(good, Array(300).fill(undefined))
    await t.enqueue(bad)
    await t.runUntilIdle()
    expect(await t.maintenance.prune()).toEqual({ removed: 0 })
    expect(await t.maintenance.prune({ failed: 0 })).toEqual({ removed: 1 })
    expect(await t.maintenance.prune({ completed: { count: 100 } })).toEqual({ removed: 200 })
    expect(await t.maintenance.prune({})).toEqual({ removed: 0 })
    expect(await t.tasks.counts()).toMatchObject({ completed: 100, failed: 0 })
  })

  test('what is no limit is refused', async ({ open }) => {
    const t = await open({ tasks })
    for (const wrong of [
      { completed: 'soon' },
      { completed: -1 },
      { completed: null },
      { completed: true },
      { completed: { count: 1.5 } },
      { completed: { count: -1 } },
      { completed: { older: '1d' } },
      { queued: '1d' },
    ] as object[]) {
      await expect(t.maintenance.prune(wrong), JSON.stringify(wrong)).rejects.toMatchObject({ code: /BAD_/ })
      expect(() => retentionOf(wrong), JSON.stringify(wrong)).toThrow()
    }
    expect(() => retentionOf('7d' as RetentionOptions)).toThrow()
  })

  test('what is not said is as usual for a retention, and kept by a prune', () => {
    expect(retentionOf({ failed: undefined, completed: { age: '1d', count: 5 } })).toEqual({
      completed: { ageMs: DAY_MS, count: 5 },
      failed: { ageMs: 30 * DAY_MS, count: null },
      cancelled: { ageMs: 7 * DAY_MS, count: null },
    })
    expect(pruningOf({ failed: '1d' })).toEqual({
      completed: { ageMs: null, count: null },
      failed: { ageMs: DAY_MS, count: null },
      cancelled: { ageMs: null, count: null },
    })
  })
})

describe('the pruner', () => {
  /** A store of which only the steps are seen: each removes all it may, and takes so long. */
  function watched(workMs: number, total: number) {
    const clock = new ManualClock()
    const steps: { atMs: number; step: PruneStep }[] = []
    let left = total
    let fails = false
    const store = {
      async pruneTasks(_: unknown, step: PruneStep): Promise<Pruned> {
        steps.push({ atMs: clock.monotonicMs(), step })
        if (fails) throw new Error('away')
        const removed = Math.min(left, step.limit)
        left -= removed
        return {
          removed,
          more: removed > 0,
          afterLane: 0,
          workMs,
          next: sizeAfter(workMs, 4),
          turn: removed > 0 ? steps.length : null,
        }
      },
    }
    const problems: string[] = []
    const pruner = new Pruner(store as any, clock, retentionOf({}), {
      everyMs: 60_000,
      onProblem: (message) => problems.push(message),
    })
    const pass = async (ms: number) => {
      const untilMs = clock.monotonicMs() + ms
      while (clock.step(untilMs)) await new Promise(setImmediate)
      clock.moveTo(untilMs)
    }
    return { pruner, steps, problems, pass, fail: (now: boolean) => (fails = now) }
  }

  test('rests nine times as long as a step took, and makes small ones of slow ones', async () => {
    const { pruner, steps, pass } = watched(20, 1_000)
    pruner.start()
    await pass(10_000)
    await pass(2_000)
    expect(steps.map(({ step }) => step.limit).slice(0, 4)).toEqual([100, 50, 25, 13])
    const [first, second] = steps.map(({ atMs }) => atMs)
    expect(second! - first!).toBe(180)
    pruner.stop()
  })

  test('shows the turn it has to the next step, and looks again after a while', async () => {
    const { pruner, steps, pass } = watched(1, 150)
    pruner.start()
    await pass(9_999)
    expect(steps).toHaveLength(0)
    await pass(1_000)
    expect(steps.map(({ step }) => step.turn?.held)).toEqual([null, 1, 2])
    await pass(60_000)
    expect(steps).toHaveLength(4)
    pruner.stop()
    await pass(600_000)
    expect(steps).toHaveLength(4)
  })

  test('tells once of a database that is away, and goes on when it is back', async () => {
    const { pruner, steps, problems, pass, fail } = watched(1, 10)
    fail(true)
    pruner.start()
    await pass(200_000)
    expect(problems).toHaveLength(1)
    fail(false)
    await pass(60_000)
    expect(steps).toHaveLength(6)
    expect(problems).toHaveLength(1)
    pruner.stop()
  })

  test('a step grows while it is quick, shrinks while it is slow, and stays within its bounds', () => {
    expect([0.5, 2, 8, 9].map((workMs) => sizeAfter(workMs, 4))).toEqual([
      'larger',
      'same',
      'same',
      'smaller',
    ])
    expect(nextLimit(100, 'larger')).toBe(200)
    expect(nextLimit(100, 'same')).toBe(100)
    expect(nextLimit(100, 'smaller')).toBe(50)
    expect(nextLimit(2_000, 'larger')).toBe(2_000)
    expect(nextLimit(5, 'smaller')).toBe(5)
  })
})
