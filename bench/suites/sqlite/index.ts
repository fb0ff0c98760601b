import { drainWithinLimits } from '../../scenarios/limits.ts'
import { pruneWhileDraining } from '../../scenarios/prune.ts'
import { claimRows, drainRows, drainRowsTogether, pickupOfRows } from '../../scenarios/rows.ts'
import { drainByStrategy } from '../../scenarios/strategies.ts'
import { openFiles } from '../../workplaces/files.ts'
import { openWorkplace } from '../../workplaces/workplace.ts'
import type { Suite } from '../suite.ts'
import { askAtAMillion, drainAnyBacklog } from './backlog.ts'
import { drainInBatches, drainManyProcesses, drainOneProcess } from './drain.ts'
import { enqueueMany, enqueueOneByOneFull, enqueueOneByOneNormal, enqueueTogether } from './enqueue.ts'
import { idleCost } from './idle.ts'
import { notes } from './notes.ts'
import { pickup } from './pickup.ts'

export const suite: Suite = {
  name: 'sqlite',
  contenders: [
    'gleaner',
    'gleaner-rows',
    'sqlite/raw',
    'sqlite/plainjob',
    'sqlite/liteque',
    'sqlite/sidequest',
  ],
  scenarios: [
    enqueueOneByOneNormal,
    enqueueOneByOneFull,
    enqueueTogether,
    enqueueMany,
    drainOneProcess,
    drainInBatches,
    drainManyProcesses,
    drainByStrategy,
    drainWithinLimits,
    pickup,
    idleCost,
    drainAnyBacklog,
    askAtAMillion,
    pruneWhileDraining,
    drainRows,
    drainRowsTogether(1_200_000),
    claimRows,
    pickupOfRows,
  ],
  openWorkplace: (options) => openWorkplace(options, openFiles),
  notes,
}
