import { drainOf } from './drain.ts'
import { type Bench, type Entry, PER_SECOND, type Scenario, type Target } from './scenario.ts'

const TASKS = 50_000
const LIMITS = ['a limited queue', '1000 keys with limits'] as const
export type LimitsName = (typeof LIMITS)[number]
const NONE = 'gleaner, without limits'

export const drainWithinLimits: Scenario = {
  id: 'limits',
  title: 'Drain 50 000 tasks within limits',
  meaning:
    'The drain of one process, as above, of a queue with a limit of concurrency and rate that is not reached, and of tasks ' +
    'of 1000 keys, each with a limit of its own: what it costs to count. Tasks with a limit are not prefetched.',
  metrics: [PER_SECOND],
  entries: (bench) => [undefined, ...LIMITS].map((limits) => limitsEntry(bench, limits)),
  targets: LIMITS.map(
    (limits): Target => ({
      // A thousand keys, each with a turn and a counter of its own, cost more: reported, not required.
      level: limits === 'a limited queue' ? 'reach' : 'stretch',
      text: `${limits}: ≥ 0.5 × without`,
      entry: labelOf(limits),
      metric: PER_SECOND.key,
      relativeTo: NONE,
      atLeast: 0.5,
    }),
  ),
}

function labelOf(limits: LimitsName): string {
  return `gleaner, ${limits}`
}

function limitsEntry(bench: Bench, limits: LimitsName | undefined): Entry {
  return {
    label: limits === undefined ? NONE : labelOf(limits),
    contender: 'gleaner',
    measure: () => drainOf(bench, { contender: 'gleaner', limits }, { tasks: TASKS }),
  }
}
