import type { ContenderName } from '../../contenders/contender.ts'
import { drainOf } from '../../scenarios/drain.ts'
import { PER_SECOND, type Scenario } from '../../scenarios/scenario.ts'
import { ALL, OWN, shown } from '../peers.ts'

const TASKS = 5_000
const HANDLER = { logs: 20, progress: 10 }
const TALKING: readonly ContenderName[] = [...OWN, 'postgres/bullmq-redis']

export const chatty: Scenario = {
  id: 'chatty',
  title: 'Tasks that say a lot',
  meaning:
    `${TASKS.toLocaleString('en')} waiting tasks whose handlers write ${HANDLER.logs} log lines and report ${HANDLER.progress} steps ` +
    'of progress, all of which is kept. Of the peers only BullMQ keeps both.',
  metrics: [PER_SECOND],
  entries: (bench) =>
    TALKING.filter((contender) => ALL.includes(contender)).map((contender) => ({
      label: shown(contender),
      contender,
      measure: () => drainOf(bench, { contender }, { processes: 1, tasks: TASKS, handler: HANDLER }),
    })),
  targets: [
    {
      level: 'reach',
      text: 'PostgreSQL: ≥ 4 000 a second',
      entry: shown('postgres/gleaner'),
      metric: PER_SECOND.key,
      atLeast: 4_000,
    },
    ...OWN.map((contender) => ({
      level: 'reach' as const,
      text: `${shown(contender)}: ≥ 2 × BullMQ`,
      entry: shown(contender),
      metric: PER_SECOND.key,
      relativeTo: shown('postgres/bullmq-redis'),
      atLeast: 2,
    })),
  ],
}
