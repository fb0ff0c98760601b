import type { Circumstances } from '../../model/explanation.ts'
import type { LimitState } from '../../model/limit.ts'
import type {
  AttemptRecord,
  Counts,
  Failure,
  FinishedStatus,
  LogLine,
  Page,
  Requires,
  TaskRecord,
  TaskStatus,
} from '../../model/task.ts'
import type { Effects, Exchange, Exchanged, Run } from './exchange.ts'
import type { Enqueued, NewTask, Within } from './new-task.ts'
import type { PageRequest } from './page.ts'

/** Tasks: enqueued, worked on, and managed. */
export interface TaskStore {
  /** Of one call: all of them run after others, or none. */
  enqueue(tasks: readonly NewTask[]): Promise<Enqueued[]>
  /** Takes part in a transaction of the user's own; synchronous where the driver is. */
  within(transaction: unknown): Within

  /** Hands in what is finished, takes what is next: one transaction. */
  exchange(exchange: Exchange): Promise<Exchanged>
  /** Commits the handler's own writes together with the completion. False: refused, nothing was written. */
  completeWith(session: string, claim: Run, result: string | null, effects: Effects): Promise<boolean>

  getTask(id: string): Promise<TaskRecord | null>
  listTasks(filter: TaskFilter, page: PageRequest): Promise<Page<TaskRecord>>
  countTasks(filter: LaneFilter): Promise<Counts>
  taskLogs(id: string, page: LogRequest): Promise<Page<LogLine>>
  taskAttempts(id: string): Promise<AttemptRecord[]>
  retryTask(id: string): Promise<RetryAnswer>
  cancelTask(id: string): Promise<CancelAnswer>
  removeTask(id: string): Promise<RemoveAnswer>
  /** One bounded step of a change to all tasks that a filter names: pass `next` and `upTo` to the following one. */
  changeTasks(step: BulkStep): Promise<BulkStepDone>
  /** How those of these tasks ended that did; the others are left out. */
  results(ids: readonly string[]): Promise<Map<string, TaskResult>>
  /** All that decides whether it can run now, but for the limits. */
  circumstancesOf(id: string): Promise<Omit<Circumstances, 'limits'> | null>
  /** What the limits that this task is under say now: of its queue, and of its key. Empty: there are none. */
  limitsOn(id: string): Promise<LimitState[]>
}

/** Counts only some tasks. */
export interface LaneFilter {
  /** Only tasks in this queue. */
  queue?: string
  /** Only tasks of this name. */
  name?: string
  /** Only tasks that require all of this. A number or a boolean is the same as its text. */
  requires?: Requires
}

/** Times are from `…After` on, and before `…Before`. */
export interface TaskFilter extends LaneFilter {
  status?: TaskStatus
  key?: string
  createdAfter?: number
  createdBefore?: number
  finishedAfter?: number
  finishedBefore?: number
  /** Only tasks that started: those that run, and those that finished. */
  startedBefore?: number
  /** By the time of the store. Only with the status `running`. */
  runningLongerThanMs?: number
  /** The item that waits or waited for them. */
  parent?: string
  /** Text in the message of the error; a to z and A to Z are the same. */
  error?: string
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
  /** Another transaction was writing them: read them once more. */
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
export type TaskResult =
  | { status: FinishedStatus; result: unknown; error: Failure | null }
  | { status: 'gone'; result: null; error: null }
