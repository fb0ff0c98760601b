import type { Demand } from '../../model/alerts.ts'
import type { PlannedLimit } from '../../model/limit.ts'
import type { Measured, Readings } from '../../model/metrics.ts'
import type { QueueRecord, QueueSettings } from '../../model/queue.ts'
import type { Actions } from './actions.ts'
import type { Levels } from './levels.ts'
import type { Schedules } from './schedules.ts'

/** Settings of all processes (queues, limits, schedules), and what operators read. */
export interface AdminStore extends Schedules, Actions, Levels {
  listQueues(): Promise<QueueRecord[]>
  /** A queue, or with null everything. */
  setPaused(queue: string | null, paused: boolean): Promise<void>
  everythingIsPaused(): Promise<boolean>
  /** Writes down what was said of these queues. What waits in one whose order has changed is then re-ranked. */
  configureQueues(settings: readonly QueueSettings[]): Promise<void>
  /** Writes down the numbers of these limits; what is not named stays as it is. They hold from the next claim on. */
  planLimits(limits: readonly PlannedLimit[]): Promise<void>
  /** A worker has prefetched items: claimed, and not known to be started. Of a queue, of a discovery, or of all with null. */
  holdsAhead(of: { queue: string } | { discovery: string } | null): Promise<boolean>
  /**
   * Adds to the current minute, and writes down how many tasks are unfinished now; minutes that are too old are taken away, a few
   * at a time.
   */
  addMetrics(measured: readonly Measured[]): Promise<void>
  /** What there is now, and what happened within this time. */
  readMetrics(windowMs: number): Promise<Readings>
  /** All that was ever added, of each name in each queue. */
  readTotals(): Promise<Measured[]>
  /** What waits, and who is there to do it. */
  demand(): Promise<Demand>
}
