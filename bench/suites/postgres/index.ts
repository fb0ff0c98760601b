import type { ContenderName } from '../../contenders/contender.ts'
import { drainWithinLimits } from '../../scenarios/limits.ts'
import { pruneWhileDraining } from '../../scenarios/prune.ts'
import { claimRows, drainRows, drainRowsTogether, pickupOfRows } from '../../scenarios/rows.ts'
import { drainByStrategy } from '../../scenarios/strategies.ts'
import { openDatabases } from '../../workplaces/databases.ts'
import { findRedis } from '../../workplaces/redis.ts'
import { openWorkplace } from '../../workplaces/workplace.ts'
import type { Suite } from '../suite.ts'
import { drainAnyBacklog } from './backlog.ts'
import { drainInBatches, drainManyProcesses, drainOneProcess } from './drain.ts'
import { enqueueMany, enqueueTogether } from './enqueue.ts'
import { heldTransaction } from './held-transaction.ts'
import { notes } from './notes.ts'
import { pickup } from './pickup.ts'

const ON_POSTGRES: readonly ContenderName[] = [
  'gleaner',
  'gleaner-rows',
  'postgres/raw',
  'postgres/graphile-worker',
  'postgres/graphile-worker-batched',
  'postgres/pg-boss',
  'postgres/bullmq',
]

export const suite: Suite = {
  name: 'postgres',
  contenders: findRedis() === undefined ? ON_POSTGRES : [...ON_POSTGRES, 'postgres/bullmq-redis'],
  scenarios: [
    enqueueTogether,
    enqueueMany,
    drainOneProcess,
    drainInBatches,
    drainManyProcesses,
    drainByStrategy,
    drainWithinLimits,
    pickup,
    drainAnyBacklog,
    heldTransaction,
    pruneWhileDraining,
    drainRows,
    drainRowsTogether(300_000),
    claimRows,
    pickupOfRows,
  ],
  openWorkplace: (options) => openWorkplace(options, openDatabases),
  notes,
}
