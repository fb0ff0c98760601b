import { type Clock, systemClock } from '../../clock.ts'
import { Turns } from '../turns.ts'
import { WeightedEntries } from '../weighted-entries.ts'
import { QueueCache } from './order/queue-cache.ts'
import { DiscoveryCache } from './rows/discovery-cache.ts'
import type { Database } from './server/database.ts'
import { ServerLife } from './server/server-life.ts'
import { HeldBatches } from './tasks/batches.ts'
import { LaneCache } from './tasks/lanes.ts'
import { LowWater } from './tasks/low-water.ts'
import { ReadyLanes } from './tasks/route.ts'
import { UsualSessions } from './tasks/usual.ts'

/** What a store keeps in memory of its database and of its workers. */
export interface Memory {
  lanes: LaneCache
  queues: QueueCache
  lowWater: LowWater
  ready: ReadyLanes
  batches: HeldBatches
  turns: Turns
  weightedEntries: WeightedEntries
  discoveries: DiscoveryCache
  usual: UsualSessions
  life: ServerLife
}

interface MemoryEvents {
  /** Something was drawn by an order that has changed. */
  onOutdated(): void
  /** The server has lost something, and goes on. */
  onNewLife(): void
}

export function emptyMemory(
  database: Database,
  { clock = systemClock, random = Math.random }: { clock?: Clock; random?: () => number },
  { onOutdated, onNewLife }: MemoryEvents,
): Memory {
  const { sql } = database
  return {
    lanes: new LaneCache(sql),
    queues: new QueueCache(sql, random, onOutdated),
    lowWater: new LowWater(clock),
    ready: new ReadyLanes(() => clock.monotonicMs()),
    batches: new HeldBatches(),
    turns: new Turns(),
    weightedEntries: new WeightedEntries(),
    discoveries: new DiscoveryCache(database),
    usual: new UsualSessions(),
    life: new ServerLife(database, onNewLife),
  }
}
