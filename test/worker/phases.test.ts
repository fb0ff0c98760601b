import { describe, expect, test as plainTest } from 'vitest'
import { z } from 'zod'
import { defineTask } from '../../src/index.ts'
import { phaseOf } from '../../src/worker/state/phases.ts'
import { openTemp } from '../temp-database.ts'
import { test } from '../testing/open-test.ts'
import { until } from '../until.ts'

const quick = defineTask({ name: 'quick', input: z.number(), run: (n) => n })
const bad = defineTask({
  name: 'bad',
  retry: { attempts: 1 },
  run: () => {
    throw new Error('no')
  },
})

const CALM = { stopping: false, ready: true, paused: false, backingOff: false, running: 0, loading: 0 }

describe('the phase of a worker', () => {
  plainTest.each([
    ['idle', {}],
    ['processing', { running: 1 }],
    ['processing', { running: 1, loading: 1 }],
    ['loading_models', { loading: 1 }],
    ['backing_off', { backingOff: true }],
    ['backing_off', { backingOff: true, running: 1 }],
    ['paused', { paused: true }],
    ['paused', { paused: true, backingOff: true }],
    ['processing', { paused: true, running: 1 }],
    ['initializing', { ready: false, running: 1, backingOff: true }],
    ['stopping', { stopping: true, ready: false, running: 1 }],
  ] as const)('is %s with %j', (phase, situation) => {
    expect(phaseOf({ ...CALM, ...situation })).toBe(phase)
  })

  test('tells of a pause, and of its end', async ({ open }) => {
    const t = await open({ tasks: [quick] })
    const worker = t.work()
    const phases: string[] = []
    const stop = worker.onPhase((phase) => phases.push(phase))
    expect(worker.snapshot()).toMatchObject({ phase: 'initializing', phaseSince: t.now() })
    await t.runUntilIdle()
    await t.advance('1m')
    await t.pause()
    await t.runUntilIdle()
    expect(worker.snapshot()).toMatchObject({ phase: 'paused', phaseSince: t.now() })
    await t.resume()
    await t.runUntilIdle()
    await t.enqueue(quick, 1)
    await t.runUntilIdle()
    expect(phases).toEqual(['idle', 'paused', 'idle', 'processing', 'idle'])
    stop()
    await worker.stop()
    expect(worker.snapshot().phase).toBe('stopping')
    expect(phases).toHaveLength(5)
  })

  plainTest('shows a pause that another process made, soon', async () => {
    const gleaner = await openTemp({ tasks: [quick] })
    const worker = gleaner.work()
    await until('it is idle', () => worker.snapshot().phase === 'idle')
    await gleaner.pause()
    await until('it is paused', () => worker.snapshot().phase === 'paused', 1_000)
    await gleaner.resume()
    await until('it is idle again', () => worker.snapshot().phase === 'idle', 1_000)
  })

  test('survives a listener that throws', async ({ open }) => {
    const t = await open({ tasks: [quick] })
    const problems: string[] = []
    t.on('problem', ({ message }) => problems.push(message))
    const worker = t.work()
    worker.onPhase(() => {
      throw new Error('mine')
    })
    const handle = await t.enqueue(quick, 1)
    await t.runUntilIdle()
    expect(await handle.result()).toBe(1)
    expect(problems).toContain(`${worker.id}: a listener of onPhase threw`)
  })
})

describe('the snapshot of a worker', () => {
  test('counts, and averages by what was run, a new value counting for a fifth', async ({ open }) => {
    const slow = defineTask({
      name: 'slow',
      queue: 'other',
      input: z.number(),
      run: (seconds): Promise<void> => t.sleep(`${seconds}s`),
    })
    const t = await open({ tasks: [quick, bad, slow] })
    const worker = t.work({ concurrency: 1 })
    for (const seconds of [10, 20]) await t.enqueue(slow, seconds)
    await t.advance('5s')
    const [first] = worker.snapshot().current
    expect(first).toMatchObject({ item: 'slow/1', since: t.now() - 5_000, deadline: t.now() + 3_595_000 })
    expect(first!.fence).toBeGreaterThan(0)
    await t.advance('1m')
    await t.enqueue(quick, 1)
    await t.enqueue(quick, 2, { queue: 'other' })
    await t.enqueue(bad)
    await t.runUntilIdle()
    const { counters, sources, averageMs } = worker.snapshot()
    expect(sources).toEqual([
      { source: 'other/slow', averageMs: 12_000, processed: 2 },
      { source: 'default/quick', averageMs: 0, processed: 1 },
      { source: 'other/quick', averageMs: 0, processed: 1 },
      { source: 'default/bad', averageMs: 0, processed: 1 },
    ])
    expect(averageMs).toBeCloseTo(12_000 * 0.8 ** 3)
    expect(counters).toMatchObject({ processed: 5, errors: 1, consecutive_errors: 0, fenced_writes: 0 })
    expect(counters.discovery_attempts).toBeGreaterThanOrEqual(5)
  })

  test('counts writes that were refused', async ({ open }) => {
    const lost = defineTask({
      name: 'lost',
      input: z.boolean(),
      run: (effects, ctx) => {
        t.db.prepare('UPDATE gleaner_tasks SET fence = fence + 1 WHERE id = ?').run(Number(ctx.id))
        return effects ? ctx.complete('late', () => {}) : 'late'
      },
    })
    const t = await open({ tasks: [lost] })
    const worker = t.work()
    await t.enqueue(lost, false)
    await t.enqueue(lost, true)
    await t.runUntilIdle()
    expect(worker.snapshot().counters).toMatchObject({ fenced_writes: 2, processed: 1 })
  })
})
