import type { Metric, Scenario } from '../../scenarios/scenario.ts'
import { OWN, shown } from '../peers.ts'

const TASKS = 10_000
const STEPS = 3
const STEPS_PER_SECOND: Metric = { key: 'stepsPerSecond', label: 'steps', unit: 'per second' }

export const steps: Scenario = {
  id: 'steps',
  title: 'Three steps a task',
  meaning: `${TASKS.toLocaleString('en')} waiting tasks with ${STEPS} steps each, one process. Each step is kept before the next one begins.`,
  metrics: [STEPS_PER_SECOND],
  entries: (bench) =>
    OWN.map((contender) => ({
      label: shown(contender),
      contender,
      measure: () =>
        bench.withFresh(contender, async (place) => {
          const tasks = bench.size(TASKS, 50)
          const { ms } = await bench.play('durable-drain', { place, steps: true, tasks, suspended: 0 })
          return { [STEPS_PER_SECOND.key]: (tasks * STEPS * 1_000) / ms }
        }),
    })),
  targets: [
    {
      level: 'reach',
      text: 'SQLite: ≥ 15 000 a second',
      entry: shown('sqlite/gleaner'),
      metric: STEPS_PER_SECOND.key,
      atLeast: 15_000,
    },
  ],
}
