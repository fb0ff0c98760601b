import type { Demand } from '../model/alerts.ts'
import type { Circumstances } from '../model/explanation.ts'
import type { Holdup } from '../model/holdup.ts'
import type { Measured, Readings } from '../model/metrics.ts'
import type { Failure, FinishedStatus, TaskStatus } from '../model/task.ts'
import type { Actions } from './actions.ts'
import type { HealthBook } from './health-row.ts'
import type { Levels } from './level-row.ts'

/** What management asks of a store, and what it is answered. */

/** For whoever looks after many tasks. */
export interface Insight extends HealthBook, Actions, Levels {
  /** All that decides whether it can run now, but for the limits. */
  circumstancesOf(id: string): Promise<Omit<Circumstances, 'limits'> | null>
  /** One bounded step of a change to all tasks that a filter names: pass `next` and `upTo` to the following one. */
  changeTasks(step: BulkStep): Promise<BulkStepDone>
  /** Writes down what a live worker does not claim for want of a resource, until it says otherwise. */
  noteHoldups(session: string, holdups: readonly Holdup[]): Promise<void>
  /**
   * Adds to the current minute, and writes down how many tasks are unfinished now; minutes that are too old are taken away, a few
   * at a time.
   */
  addMetrics(measured: readonly Measured[]): Promise<void>
  /** What there is now, and what happened within this time. */
  readMetrics(windowMs: number): Promise<Readings>
  /** What waits, and who is there to do it. */
  demand(): Promise<Demand>
  /** Somebody holds something ahead: claimed, and not known to be started. Of a queue, a discovery, or of all with null. */
  holdsAhead(of: { queue: string } | { discovery: string } | null): Promise<boolean>
  /** All that was ever added, of each name in each queue. */
  readTotals(): Promise<Measured[]>
  /** Bytes on disk: of the database, and of its write-ahead log where that is a file beside it. */
  sizes(): Promise<{ databaseBytes: number; walBytes: number | null }>
  /** The versions that its tables went through, the oldest first. */
  migrations(): Promise<AppliedMigration[]>
}

/** A step that updated the tables of the database. */
export interface AppliedMigration {
  /** The number of the step. */
  version: number
  /** What it changed. */
  name: string
  /** Milliseconds since 1970. */
  appliedAt: number
}

/** Counts only some tasks. */
export interface LaneFilter {
  /** Only tasks in this queue. */
  queue?: string
  /** Only tasks of this name. */
  name?: string
}

/** Times are from `…After` on, and before `…Before`. */
export interface TaskFilter extends LaneFilter {
  status?: TaskStatus
  key?: string
  createdAfter?: number
  createdBefore?: number
  finishedAfter?: number
  finishedBefore?: number
  /** Text in the message of the error; a to z and A to Z are the same. */
  error?: string
}

export interface PageRequest {
  limit: number
  cursor: string | null
}

export interface LogRequest extends PageRequest {
  /** There is always a `next`: where to go on when more has come. */
  follow?: boolean
}

export type RetryAnswer = 'retried' | 'gone' | 'not-finished' | { keyHeldBy: string }
export type CancelAnswer = 'cancelled' | 'requested' | 'finished' | 'gone'
export type RemoveAnswer = 'removed' | 'running' | 'gone'

export type BulkChange = 'retry' | 'cancel' | 'remove'

export interface BulkStep {
  change: BulkChange
  /** With a status, so that it names no task to which the change cannot apply. */
  filter: TaskFilter & { status: TaskStatus }
  page: PageRequest
  /** Tasks enqueued later are left alone; null in the first step. */
  upTo: string | null
  /** Says what would be done, and does nothing. Keys that its steps would take are noted here, each with its task. */
  dryRun: { taken: Map<string, string> } | null
}

export interface BulkStepDone {
  changed: number
  refused: Refusal[]
  /** Somebody else was just writing them: they are to be looked at once more. */
  passedOver: number
  next: string | null
  upTo: string
}

/** A task that could not be changed: `by` holds its key, or it is held by a worker itself. */
export interface Refusal {
  /** The task that was not changed. */
  id: string
  /** Why not. */
  reason: 'key-held' | 'running'
  /** The task that holds its key. */
  by: string | null
}

/** `gone`: there is no such task (any more). */
export type Ending =
  | { status: FinishedStatus; result: unknown; error: Failure | null }
  | { status: 'gone'; result: null; error: null }
