import { expect } from 'vitest'
import { defineTask } from '../../../src/index.ts'
import { counts } from '../../conformance/world.ts'
import { testMigrated as test } from './place.ts'

const CLAIM = /SKIP LOCKED.*NOT suspect|NOT suspect.*SKIP LOCKED/s

test('while the server looks for the next short tasks, those of the last claim run', async ({ place }) => {
  const proxy = await place.proxy()
  const claimsSeen = () =>
    proxy.seen.flatMap(({ statements }) => statements).filter((text) => CLAIM.test(text))
  /** By claim: how many claims were on their way when the last task of it ran. */
  const byFence = new Map<number, number>()
  const task = defineTask({
    name: 'short',
    run(_: undefined, ctx) {
      byFence.set(ctx.fence, claimsSeen().length)
    },
  })
  const gleaner = await place.open({ database: proxy.url, tasks: [task] })
  await gleaner.enqueueMany(task, Array(6_000).fill(undefined))
  let told = 0
  gleaner.on('completed', () => told++)
  const worker = gleaner.work({ concurrency: 20 })
  await worker.drained()
  expect(told).toBe(6_000)
  expect(await gleaner.tasks.counts()).toEqual(counts({ completed: 6_000 }))
  const seenAtTheEnd = [...byFence].sort(([a], [b]) => a - b).map(([, seen]) => seen)
  const early = seenAtTheEnd.filter((seen, i) => seen > i + 1)
  expect(early.length).toBeGreaterThan(0)
})

test('what was asked for early and never started goes back when the worker stops', async ({ place }) => {
  let ran = 0
  const enough = Promise.withResolvers<void>()
  const task = defineTask({
    name: 'short',
    run() {
      ran += 1
      if (ran === 1_000) enough.resolve()
    },
  })
  const gleaner = await place.open({ tasks: [task] })
  await gleaner.enqueueMany(task, Array(6_000).fill(undefined))
  let told = 0
  gleaner.on('completed', () => told++)
  const worker = gleaner.work({ concurrency: 20 })
  await enough.promise
  await worker.stop()
  expect(told).toBe(ran)
  expect(await gleaner.tasks.counts()).toEqual(counts({ completed: ran, queued: 6_000 - ran }))
  expect(await place.rows('SELECT 1 FROM gleaner.tasks WHERE fence IS NOT NULL OR attempts > 1')).toEqual([])
  const { items } = await gleaner.tasks.list({ status: 'queued', limit: 500 })
  expect(items.every(({ attempts }) => attempts === 0)).toBe(true)
})

test('what stands under a limit, and is never held ahead, has its turn among many short ones', async ({
  place,
}) => {
  let ran = 0
  let ranBefore = 0
  const single = defineTask({
    name: 'single',
    queue: 'single',
    run() {
      ranBefore = ran
    },
  })
  const short = defineTask({
    name: 'short',
    async run() {
      ran += 1
      // When all that comes is asked for early.
      if (ran === 2_000) await gleaner.enqueue(single)
    },
  })
  const gleaner = await place.open({ tasks: [short, single], queues: { single: { concurrency: 1 } } })
  await gleaner.enqueueMany(short, Array(20_000).fill(undefined))
  const worker = gleaner.work({ concurrency: 20 })
  await worker.drained()
  expect(ran).toBe(20_000)
  expect(ranBefore).toBeLessThan(20_000)
})
