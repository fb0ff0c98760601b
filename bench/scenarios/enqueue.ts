import { type Durability, labelOf } from '../contenders/contender.ts'
import type { Runner } from './lineup.ts'
import type { Bench, Entry } from './scenario.ts'

export const CALLERS = 100
const QUICK_TASKS = 200

type Way = 'each' | 'together' | 'many'

/** Each runner enqueues its tasks that way into an empty place. */
export function enqueueEntries(way: Way, durability: Durability, runners: readonly Runner[]) {
  return (bench: Bench): Entry[] => runners.map((runner) => enqueueEntry(bench, way, durability, runner))
}

export function enqueueEntry(bench: Bench, way: Way, durability: Durability, runner: Runner): Entry {
  const { contender, tasks, note, roundsMax } = runner
  const count = bench.size(tasks, QUICK_TASKS)
  return {
    label: labelOf(contender),
    contender,
    note,
    roundsMax,
    measure: () =>
      bench.withFresh(contender, (place) =>
        bench.play('enqueue', { contender, place, durability, way, count, callers: CALLERS }),
      ),
  }
}
