import { askAtAMillion, drainAnyBacklog } from '../scenarios/backlog.ts'
import { drainManyProcesses, drainOneProcess } from '../scenarios/drain.ts'
import {
  enqueueMany,
  enqueueOneByOneFull,
  enqueueOneByOneNormal,
  enqueueTogether,
} from '../scenarios/enqueue.ts'
import { idleCost, pickup } from '../scenarios/pickup.ts'
import type { Scenario } from '../scenarios/scenario.ts'

/** In the order of the report. */
export const scenarios: readonly Scenario[] = [
  enqueueOneByOneNormal,
  enqueueOneByOneFull,
  enqueueTogether,
  enqueueMany,
  drainOneProcess,
  drainManyProcesses,
  pickup,
  idleCost,
  drainAnyBacklog,
  askAtAMillion,
]
