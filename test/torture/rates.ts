import { defineTask, openGleaner } from '../../src/index.ts'
import type { Ground } from './ground/ground.ts'

const COUNT = 100
const MINUTE_MS = 60_000

export interface Minute {
  starts: number
  /** The shortest time in which one more than the rate's count started, by the database's time. */
  closestMs: number
}

/** A real minute of a rate of 100 a second, with two engines that compete for it. */
export async function minuteOfARate(ground: Ground): Promise<Minute> {
  const claimedAt: number[] = []
  const task = defineTask({
    name: 'rated',
    queue: 'rated',
    // While it runs, its record says when it was claimed.
    run: async (_, ctx) => void claimedAt.push((await engines[0]!.tasks.get(ctx.id))!.startedAt!),
  })
  const queues = { rated: { rate: { count: COUNT, per: '1s' } } } as const
  const open = () => openGleaner({ database: ground.database, tasks: [task], queues })
  const engines = [await open(), await open()]
  try {
    await engines[0]!.enqueueMany(task, Array(COUNT * 65).fill(undefined))
    for (const engine of engines) engine.work({ concurrency: 20 })
    // Not a wait for something: the minute that is measured.
    await new Promise((resolve) => setTimeout(resolve, MINUTE_MS + 2_000))
  } finally {
    await Promise.all(engines.map((engine) => engine.close()))
    await ground.clear()
  }
  const inOrder = claimedAt.sort((a, b) => a - b)
  const ofTheMinute = inOrder.filter((at) => at < inOrder[0]! + MINUTE_MS)
  const closestMs = Math.min(...inOrder.slice(COUNT).map((at, i) => at - inOrder[i]!))
  return { starts: ofTheMinute.length, closestMs }
}

/** Within 5 % of 6000, and never more than the rate in any second. */
export function keptItsRate({ starts, closestMs }: Minute): boolean {
  const expected = (COUNT * MINUTE_MS) / 1_000
  return closestMs >= 1_000 && starts <= expected && starts >= 0.95 * expected
}
