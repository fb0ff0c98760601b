import { setImmediate } from 'node:timers/promises'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { systemClock } from '../../src/clock.ts'
import { insideOf } from '../../src/engine/inside.ts'
import { defineTask } from '../../src/index.ts'
import { Meter } from '../../src/observe/meter.ts'
import { openTestGleaner } from '../../src/testing/index.ts'
import { openTemp, tempDatabase } from '../temp-database.ts'

const START = new Date('2030-01-01T00:00:00Z')
const MINUTE_MS = 60_000

test('metrics tell depth, rates, errors and durations: over all, per queue and per task', async () => {
  const slow = defineTask({ name: 'slow', queue: 'media', run: () => t.sleep('2s') })
  const flaky = defineTask({
    name: 'flaky',
    input: z.object({ ok: z.boolean() }),
    retry: { attempts: 2, backoff: 'fixed', base: '10s', jitter: 0 },
    run: async ({ ok }) => {
      if (!ok) throw new Error('no')
    },
  })
  await using t = await openTestGleaner({ now: START, tasks: [slow, flaky] })
  for (let i = 0; i < 9; i++) await t.enqueue(flaky, { ok: true })
  await t.enqueue(flaky, { ok: false })
  await t.enqueueMany(slow, [undefined, undefined])
  await t.advance('30s')
  await t.enqueue(slow, undefined, { runAfter: '1h' })
  const metrics = await t.metrics({ window: '1m' })
  expect(metrics).toMatchObject({
    asOf: START.getTime() + 30_000,
    since: START.getTime(),
    depth: { scheduled: 1, queued: 0, running: 0 },
    oldestWaitingMs: null,
    // 13 tasks in half a minute; one attempt was tried again, and failed.
    perMinute: { enqueued: 26, completed: 22, failed: 2, retried: 2 },
    errorRate: 2 / 13,
  })
  expect(metrics.queues.map(({ queue }) => queue)).toEqual(['default', 'media'])
  const [ofFlaky, ofSlow] = metrics.tasks
  expect(ofFlaky).toMatchObject({ name: 'flaky', errorRate: 2 / 11, perMinute: { completed: 18 } })
  expect(ofSlow).toMatchObject({ name: 'slow', queue: 'media', errorRate: 0, depth: { scheduled: 1 } })
  expect(ofSlow!.durationMs!.p50).toBeGreaterThan(1_900)
  expect(ofSlow!.durationMs!.p99).toBeLessThan(2_100)
  expect(metrics.minutes).toEqual([
    { minute: START.getTime(), enqueued: 13, completed: 11, failed: 1, retried: 1 },
  ])
})

test('how many tasks are unfinished is written down, also when they are cancelled, removed or retried', async () => {
  const job = defineTask({ name: 'job', retry: { attempts: 1 }, run: () => Promise.reject(new Error('no')) })
  await using t = await openTestGleaner({ now: START, tasks: [job] })
  await t.queues.pause('default')
  const handles = await t.enqueueMany(job, Array(6).fill(undefined))
  const ids = handles.map(({ id }) => id)
  const then = async (change: () => Promise<unknown>) => {
    await change()
    await t.advance('1m')
  }
  await then(async () => {})
  await then(() => t.tasks.cancel(ids[0]!))
  await then(() => t.tasks.remove(ids[1]!))
  await then(() => t.tasks.retry(ids[0]!))
  await then(() => t.tasks.cancelAll({ queue: 'default' }, { dryRun: true }))
  await then(() => t.tasks.cancelAll({ queue: 'default' }))
  const levels = await insideOf(t).store.admin.readLevels(null, 60 * MINUTE_MS)
  expect(levels.map(({ left }) => left)).toEqual([6, 5, 4, 5, 0])
})

test('what waits is told with its age, and what was long ago is no longer counted', async () => {
  const job = defineTask({ name: 'job', run: () => {} })
  await using t = await openTestGleaner({ now: START, tasks: [job] })
  await t.enqueue(job)
  await t.runUntilIdle()
  await t.queues.pause('default')
  await t.enqueue(job)
  await t.advance('10m')
  expect(await t.metrics()).toMatchObject({
    depth: { queued: 1 },
    oldestWaitingMs: 10 * MINUTE_MS,
    perMinute: { enqueued: 0, completed: 0 },
    errorRate: null,
    durationMs: null,
    minutes: [],
  })
  expect(await t.metrics({ window: '1h' })).toMatchObject({ minutes: [{ enqueued: 2, completed: 1 }] })
})

test('a process writes its counts down by itself, and when it closes', async () => {
  const path = tempDatabase()
  const job = defineTask({ name: 'job', run: () => {} })
  const one = await openTemp({ path, tasks: [job], timings: { metrics: 20 } })
  const other = await openTemp({ path, tasks: [job] })
  const enqueued = async () =>
    (await other.metrics({ window: '1h' })).minutes.reduce((n, m) => n + m.enqueued, 0)
  await one.enqueue(job)
  await expect.poll(enqueued).toBe(1)
  const third = await openTemp({ path, tasks: [job] })
  await third.enqueue(job)
  await third.close()
  expect(await enqueued()).toBe(2)
})

describe('metrics refuses', () => {
  test.each([[{ window: '30s' }], [{ window: '2d' }], [{ windows: '5m' }]])('%j', async (options) => {
    const gleaner = await openTemp({})
    await expect(gleaner.metrics(options as never)).rejects.toMatchObject({
      code: 'BAD_OPTION',
      hint: expect.any(String),
    })
  })
})

test('who asks is told all that was counted before, also while others ask and write', async () => {
  const { store } = insideOf(await openTemp({}))
  let written = 0
  const slow = Object.assign(Object.create(store), {
    async addMetrics(measured: Parameters<typeof store.admin.addMetrics>[0]) {
      await setImmediate()
      await store.admin.addMetrics(measured)
      written += 1
    },
  })
  const meter = new Meter(slow, systemClock, 60_000)
  meter.claimed('tasks', 1)
  const first = meter.flush()
  meter.claimed('tasks', 1)
  // Both wait for the first one; then one of them writes, and the other finds nothing left to write.
  await Promise.race([meter.flush(), meter.flush()])
  expect(written).toBe(2)
  await first
})
