import { type Clock, systemClock } from '../../../clock.ts'
import { Turns } from '../../turns.ts'
import { WeightedEntries } from '../../weighted-entries.ts'
import type { Database } from '../server/database.ts'
import { ServerLife } from '../server/server-life.ts'
import { HeldBatches } from './batches.ts'
import { LaneCache } from './lanes.ts'
import { LowWater } from './low-water.ts'
import { QueueCache } from './queue-cache.ts'
import { ReadyLanes } from './ready-lanes.ts'
import { UsualSessions } from './usual.ts'

/** What a store keeps in memory of tasks and of the workers that claim them. */
export interface Memory {
  lanes: LaneCache
  queues: QueueCache
  lowWater: LowWater
  ready: ReadyLanes
  batches: HeldBatches
  turns: Turns
  weightedEntries: WeightedEntries
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
    usual: new UsualSessions(),
    life: new ServerLife(database, onNewLife),
  }
}
