import { Turns } from '../../turns.ts'
import { WeightedEntries } from '../../weighted-entries.ts'
import type { Statements } from '../file/statements.ts'
import { LaneCache } from './lanes.ts'
import { QueueCache } from './queue-cache.ts'

/** What a store keeps in memory of tasks and of the workers that claim them. */
export interface Memory {
  lanes: LaneCache
  queues: QueueCache
  turns: Turns
  weightedEntries: WeightedEntries
}

export function emptyMemory(db: Statements, random: () => number): Memory {
  return {
    lanes: new LaneCache(db),
    queues: new QueueCache(db, random),
    turns: new Turns(),
    weightedEntries: new WeightedEntries(),
  }
}
