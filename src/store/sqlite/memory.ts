import { Turns } from '../turns.ts'
import { WeightedEntries } from '../weighted-entries.ts'
import type { Statements } from './file/statements.ts'
import { QueueCache } from './order/queue-cache.ts'
import { DiscoveryCache } from './rows/discovery-cache.ts'
import type { RowMemory } from './rows/exchange.ts'
import { LaneCache } from './tasks/lanes.ts'

/** What a store keeps in memory of its database and of its workers. */
export interface Memory {
  lanes: LaneCache
  queues: QueueCache
  turns: Turns
  weightedEntries: WeightedEntries
  rows: RowMemory
}

export function emptyMemory(db: Statements, random: () => number): Memory {
  return {
    lanes: new LaneCache(db),
    queues: new QueueCache(db, random),
    turns: new Turns(),
    weightedEntries: new WeightedEntries(),
    rows: { book: new DiscoveryCache(db), served: null },
  }
}
