import { drainOf } from './drain.ts'
import { type Bench, type Entry, PER_SECOND, type Scenario, type Target } from './scenario.ts'

const TASKS = 50_000
const STRATEGIES = ['fifo', 'lifo', 'priority', 'priority with ageing', 'weighted'] as const
export type StrategyName = (typeof STRATEGIES)[number]

export const drainByStrategy: Scenario = {
  id: 'strategies',
  title: 'Drain 50 000 tasks by each strategy',
  meaning:
    'The drain of one process, as above, of a queue with each strategy. It is stored with the queue, and was there ' +
    'before the tasks were. All have the same priority: by weight they come in a random order.',
  metrics: [PER_SECOND],
  entries: (bench) => STRATEGIES.map((strategy) => strategyEntry(bench, strategy)),
  targets: STRATEGIES.filter((strategy) => strategy !== 'fifo').map(
    (strategy): Target => ({
      level: 'reach',
      text: `${strategy}: ≥ 0.8 × fifo`,
      entry: labelOf(strategy),
      metric: PER_SECOND.key,
      relativeTo: labelOf('fifo'),
      atLeast: 0.8,
    }),
  ),
}

function labelOf(strategy: StrategyName): string {
  return `gleaner, ${strategy}`
}

function strategyEntry(bench: Bench, strategy: StrategyName): Entry {
  return {
    label: labelOf(strategy),
    contender: 'gleaner',
    measure: () => drainOf(bench, { contender: 'gleaner', strategy }, { tasks: TASKS }),
  }
}
