import { Runners } from '../runners.ts'
import { Turns } from '../turns.ts'
import type { Statements } from './file/statements.ts'
import { QueueBook } from './order/queue-book.ts'
import { DiscoveryBook } from './rows/book.ts'
import type { RowMemory } from './rows/exchange.ts'
import { LaneCache } from './tasks/lanes.ts'

/** What a store keeps in memory of its database and of its workers. */
export interface Memory {
  lanes: LaneCache
  queues: QueueBook
  turns: Turns
  runners: Runners
  rows: RowMemory
}

export function emptyMemory(db: Statements, random: () => number): Memory {
  return {
    lanes: new LaneCache(db),
    queues: new QueueBook(db, random),
    turns: new Turns(),
    runners: new Runners(),
    rows: { book: new DiscoveryBook(db), served: null },
  }
}
