import { type Clock, systemClock } from '../../clock.ts'
import { Runners } from '../runners.ts'
import { Turns } from '../turns.ts'
import { BatchBook } from './batches.ts'
import type { Database } from './database.ts'
import { LaneBook } from './lanes.ts'
import { LowWater } from './low-water.ts'
import { QueueBook } from './queue-book.ts'
import { DiscoveryBook } from './rows/book.ts'
import { UsualSessions } from './usual.ts'

/** What a store keeps in memory of its database and of its workers. */
export interface Memory {
  lanes: LaneBook
  queues: QueueBook
  lowWater: LowWater
  batches: BatchBook
  turns: Turns
  runners: Runners
  discoveries: DiscoveryBook
  usual: UsualSessions
}

/** `onOutdated`: something was drawn by an order that has changed. */
export function emptyMemory(
  database: Database,
  { clock = systemClock, random = Math.random }: { clock?: Clock; random?: () => number },
  onOutdated: () => void,
): Memory {
  const { sql } = database
  return {
    lanes: new LaneBook(sql),
    queues: new QueueBook(sql, random, onOutdated),
    lowWater: new LowWater(clock),
    batches: new BatchBook(),
    turns: new Turns(),
    runners: new Runners(),
    discoveries: new DiscoveryBook(database),
    usual: new UsualSessions(),
  }
}
