import { expect } from 'vitest'
import { z } from 'zod'
import { defineTask } from '../../src/index.ts'
import { test } from './place.ts'

test('items that turn out to be slow are not hoarded: an idle worker gets its share', async ({ place }) => {
  // Hundreds that take no time, so that a worker holds many ahead; then many that take a little longer.
  const task = defineTask({
    name: 'task',
    input: z.number(),
    run: (ms) => (ms === 0 ? undefined : new Promise<void>((resolve) => setTimeout(resolve, ms))),
  })
  const gleaner = await place.open({ tasks: [task] })
  await gleaner.enqueueMany(task, [...Array(600).fill(0), ...Array(120).fill(10)])
  // Whoever starts the slow ones; each of them is started once.
  const slow = new Map<string, number>()
  gleaner.on('started', ({ id, worker }) => {
    if (Number(id) > 600) slow.set(worker!, (slow.get(worker!) ?? 0) + 1)
  })
  const fast = new Promise<void>((resolve) => {
    let count = 0
    gleaner.on('completed', () => {
      count += 1
      if (count === 590) resolve()
    })
  })
  const first = gleaner.work({ concurrency: 1 })
  await fast
  const second = gleaner.work({ concurrency: 1 })
  await Promise.all([first.drained(), second.drained()])
  await expect.poll(async () => (await gleaner.tasks.counts()).completed, { timeout: 20_000 }).toBe(720)
  const shares = [...slow.values()].toSorted((a, b) => a - b)
  expect(shares).toHaveLength(2)
  // Alone with all that it had taken ahead, the first would have kept nearly all.
  expect(shares[0]! / shares[1]!).toBeGreaterThan(0.4)
})
