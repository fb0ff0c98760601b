import type { Runners } from '../runners.ts'
import type { Turns } from '../turns.ts'
import type { LaneCache } from './lanes.ts'
import type { QueueBook } from './queue-book.ts'

/** What a store keeps in memory of its database and of its workers. */
export interface Memory {
  lanes: LaneCache
  queues: QueueBook
  turns: Turns
  runners: Runners
}
