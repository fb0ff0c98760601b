import { defineTask, openGleaner } from '../../src/index.ts'
import { monotonicMs } from '../clock.ts'
import { LIBRARY } from '../contenders/library.ts'

const CONCURRENCY = 100

const plain = defineTask({ name: 'plain', run: async () => {} })
const stepped = defineTask({
  name: 'stepped',
  async run(_input, ctx) {
    await ctx.step('first', () => 1)
    await ctx.step('second', () => 2)
    await ctx.step('third', () => 3)
  },
})
const waiting = defineTask({ name: 'waiting', run: (_input, ctx) => ctx.waitFor('never', { timeout: '7d' }) })

/** Drains waiting tasks in one process, perhaps beside suspended ones. */
export async function run({
  place,
  steps,
  tasks,
  suspended,
}: {
  place: string
  steps: boolean
  tasks: number
  suspended: number
}): Promise<{ ms: number }> {
  const database = place.startsWith('postgres:') ? place : `sqlite:${place}`
  const gleaner = await openGleaner({
    database,
    sqlite: { driver: LIBRARY },
    tasks: [plain, stepped, waiting],
    durability: 'normal',
  })
  await gleaner.enqueueMany(waiting, Array(suspended).fill(undefined))
  const before = gleaner.work({ concurrency: CONCURRENCY })
  await before.drained()
  await before.stop()
  const task = steps ? stepped : plain
  await gleaner.enqueueMany(task, Array(tasks).fill(undefined))
  const startedMs = monotonicMs()
  const worker = gleaner.work({ concurrency: CONCURRENCY })
  await worker.drained()
  await worker.stop()
  const ms = monotonicMs() - startedMs
  await gleaner.close()
  return { ms }
}
