import { PER_SECOND, type Scenario } from '../../scenarios/scenario.ts'
import { OWN, shown } from '../peers.ts'

const TASKS = 20_000
const SUSPENDED = 100_000
const besideNone = (contender: (typeof OWN)[number]) => `${shown(contender)}, none suspended`
const besideMany = (contender: (typeof OWN)[number]) =>
  `${shown(contender)}, ${SUSPENDED.toLocaleString('en')} suspended`

export const suspended: Scenario = {
  id: 'suspended',
  title: 'Beside suspended tasks',
  meaning: `${TASKS.toLocaleString('en')} waiting tasks that do nothing, drained by one process, beside none and beside ${SUSPENDED.toLocaleString('en')} suspended tasks with a time-out.`,
  metrics: [PER_SECOND],
  entries: (bench) =>
    OWN.flatMap((contender) =>
      [0, SUSPENDED].map((count) => ({
        label: count === 0 ? besideNone(contender) : besideMany(contender),
        contender,
        measure: () =>
          bench.withFresh(contender, async (place) => {
            const tasks = bench.size(TASKS, 100)
            const suspended = bench.size(count, Math.min(count, 100))
            const { ms } = await bench.play('durable-drain', { place, steps: false, tasks, suspended })
            return { [PER_SECOND.key]: (tasks * 1_000) / ms }
          }),
      })),
    ),
  targets: OWN.map((contender) => ({
    level: 'reach' as const,
    text: `${shown(contender)}: ≥ 0.95 of none`,
    entry: besideMany(contender),
    metric: PER_SECOND.key,
    relativeTo: besideNone(contender),
    atLeast: 0.95,
  })),
}
