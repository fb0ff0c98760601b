import type { Runners } from '../runners.ts'
import type { Turns } from '../turns.ts'
import type { BatchBook } from './batches.ts'
import type { LaneBook } from './lanes.ts'
import type { LowWater } from './low-water.ts'
import type { QueueBook } from './queue-book.ts'

/** What a store keeps in memory of its database and of its workers. */
export interface Memory {
  lanes: LaneBook
  queues: QueueBook
  lowWater: LowWater
  batches: BatchBook
  turns: Turns
  runners: Runners
}
