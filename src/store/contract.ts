import type { Carrier } from '../define/telemetry.ts'
import type { Capabilities } from '../model/capabilities.ts'
import type { WhenHeld } from '../model/held-key.ts'
import type { LimitState, PlannedLimit } from '../model/limit.ts'
import type { Outcome } from '../model/outcome.ts'
import type { QueueRecord, QueueSettings } from '../model/queue.ts'
import type { Firing, NamedSchedule, ScheduleRecord } from '../model/schedule.ts'
import type { EndCause, EndKnowledge } from '../model/session.ts'
import type {
  AttemptRecord,
  Counts,
  LogLevel,
  LogLine,
  Page,
  Progress,
  Requires,
  TaskRecord,
} from '../model/task.ts'
import type { ProcessIdentity } from '../process-identity.ts'
import type { Hears, Listener } from './change.ts'
import type {
  CancelAnswer,
  Ending,
  Insight,
  LaneFilter,
  LogRequest,
  PageRequest,
  RemoveAnswer,
  RetryAnswer,
  TaskFilter,
} from './managing.ts'
import type { RenewalPlan } from './renewal.ts'
import type { Rows } from './rows.ts'
import type { LiveSession } from './session-row.ts'
import type { Supervision } from './supervision.ts'
import type { Upkeep } from './upkeep.ts'

export type * from './change.ts'
export type * from './managing.ts'
export type * from './rows.ts'
export type { LiveSession } from './session-row.ts'

/**
 * What the engine asks of a database. SQLite and PostgreSQL stand behind it and pass one conformance suite.
 *
 * Every verb is one transaction, or changes nothing. Writes of a worker prove their claim (`id`, `fence`)
 * and their session; what cannot be proved is refused, not written. Time is the store's: its clock on
 * SQLite, the server's on PostgreSQL. Failures are `StoreError`s; nothing else is thrown.
 */
export interface Store extends Upkeep, Insight, Rows, Supervision {
  /** It works in another process, while this one goes on. */
  readonly remote: boolean

  // Producing
  enqueue(tasks: readonly NewTask[]): Promise<Enqueued[]>
  /** Takes part in a transaction of the user's own; synchronous where the driver is. */
  within(transaction: unknown): Within

  // Sessions
  openSession(worker: NewSession): Promise<string>
  /** All live sessions, so that a sweeper can tell which workers are gone. */
  liveSessions(): Promise<LiveSession[]>
  /** Ends a session and gives back all it held, in one transaction. Null: it had ended, or was renewed since. */
  endSession(id: string, cause: EndCause, known?: EndKnowledge): Promise<SessionEnd | null>
  /** As every renewal does. Answers the lease clock's time. */
  advanceLeaseClock(leaseMs: number): Promise<number>
  /** How a keeper thread renews sessions on a connection of its own; null where nobody else could see them. */
  renewal(): RenewalPlan | null

  // Working
  /** Hands in what is finished, takes what is next: one transaction. */
  exchange(exchange: Exchange): Promise<Exchanged>
  /** Commits the handler's own writes together with the completion. False: refused, nothing was written. */
  completeWith(session: string, claim: Run, result: string | null, effects: Effects): Promise<boolean>

  // Tasks
  getTask(id: string): Promise<TaskRecord | null>
  listTasks(filter: TaskFilter, page: PageRequest): Promise<Page<TaskRecord>>
  countTasks(filter: LaneFilter): Promise<Counts>
  taskLogs(id: string, page: LogRequest): Promise<Page<LogLine>>
  taskAttempts(id: string): Promise<AttemptRecord[]>
  retryTask(id: string): Promise<RetryAnswer>
  cancelTask(id: string): Promise<CancelAnswer>
  removeTask(id: string): Promise<RemoveAnswer>
  /** How those of these tasks ended that did; the others are left out. */
  endings(ids: readonly string[]): Promise<Map<string, Ending>>

  // Queues
  listQueues(): Promise<QueueRecord[]>
  /** A queue, or with null everything. */
  setPaused(queue: string | null, paused: boolean): Promise<void>
  everythingIsPaused(): Promise<boolean>
  /** Writes down what was said of these queues. What waits in one whose order has changed is then re-ranked. */
  configureQueues(settings: readonly QueueSettings[]): Promise<void>
  /** A short step: puts some of what stands in the order of former times in its place. True: there is more. */
  rerank(): Promise<boolean>

  // Limits
  /** Writes down the numbers of these limits; what is not named stays as it is. They hold from the next claim on. */
  planLimits(limits: readonly PlannedLimit[]): Promise<void>
  /** What the limits that this task is under say now: of its queue, and of its key. Empty: there are none. */
  limitsOn(id: string): Promise<LimitState[]>

  // Schedules
  /** Writes down what recurs: what is new or has changed is planned from now on, anything else stays as it is. */
  planSchedules(schedules: readonly NamedSchedule[]): Promise<void>
  /**
   * Enqueues those of these tasks whose schedule is due, each occurrence once, whoever else asks: the row of the
   * schedule decides by compare-and-set, in the transaction of the insert. Missed ones collapse into one; an
   * occurrence is skipped while the last task of its schedule is unfinished.
   */
  fireSchedules(tasks: readonly NewTask[]): Promise<Firing>
  /** Now, whatever the time. `created: false`: its last task is unfinished. Null: there is no such schedule. */
  triggerSchedule(task: NewTask): Promise<Enqueued | null>
  listSchedules(): Promise<ScheduleRecord[]>
  /** What falls into a pause is not made up for. False: there is no such schedule. */
  setSchedulePaused(name: string, paused: boolean): Promise<boolean>

  // Life
  /** Called after a commit that others may care about, here or in another process. Losing one costs latency only. */
  onChange(listener: Listener, hears?: Hears): () => void
  close(): Promise<void>
}

export interface NewTask {
  name: string
  queue: string
  requires: Requires | null
  priority: number
  /** JSON, checked and bounded before it comes here; null for no input. */
  input: string | null
  key: string | null
  keyScope: 'active' | 'forever'
  /** What to do when the key is held; null: nothing, and the holder is named. */
  whenHeld: WhenHeld | null
  maxAttempts: number
  /** What this enqueue set differently from the task's definition. */
  overrides: Overrides | null
  /** Tasks of one name and queue with the same share a limit. Left out: its task has none. */
  limitKey?: string
  /** Relative, because the store's clock decides; a date is absolute. Null: now. */
  runAfter: { ms: number } | { at: number } | null
}

/** Stored with a task as JSON; the definition in the worker's code provides the rest. */
export interface Overrides {
  retry?: { backoff?: 'fixed' | 'linear' | 'exponential'; baseMs?: number; maxMs?: number; jitter?: number }
  timeoutMs?: number
  /** Where it came from, for whoever traces; only there when somebody does. */
  trace?: Carrier
}

/** `created: false`: the key was held, and `id` is its holder. */
export interface Enqueued {
  id: string
  created: boolean
}

export interface Within {
  readonly synchronous: boolean
  enqueue(tasks: readonly NewTask[]): Enqueued[] | Promise<Enqueued[]>
}

export interface NewSession {
  worker: string
  process: ProcessIdentity
  queues: readonly string[]
  /** The tasks it has code for. */
  names: readonly string[]
  capabilities: Capabilities
  /** The discoveries it works on. */
  discoveries?: readonly string[]
  /** The process that looks after this one, and sees it end. */
  supervisor?: ProcessIdentity
}

export interface SessionEnd {
  returned: number
  /** The one item a crash was charged to. */
  blamed: string | null
  workerBroken: boolean
}

export interface ClaimProof {
  id: string
  fence: number
}

/** A claim whose handler was started. */
export interface Run extends ClaimProof {
  startedAt: number
}

export interface Claim extends ClaimProof {
  name: string
  queue: string
  input: string | null
  attempt: number
  maxAttempts: number
  overrides: Overrides | null
  key: string | null
  createdAt: number
  /** Claimed to be started at once; otherwise held ahead and reported in `starts` later. */
  started: boolean
  /** To be run alone. */
  suspect: boolean
}

export interface Exchange {
  session: string
  starts: readonly Run[]
  outcomes: readonly (Run & { outcome: Outcome })[]
  progress: readonly (ClaimProof & Progress)[]
  logs: readonly (ClaimProof & { lines: readonly NewLogLine[] })[]
  want: Want | null
  /**
   * Everything this worker knows to hold, to be compared with what the store has in its name: after an exchange whose answer
   * was lost, when the store asks for it (`compare`), and now and then. What only the store knows of goes back; what only
   * the worker knows of is refused.
   */
  holding?: readonly string[]
}

/** Whether there is anything to write, beside the wish for more. */
export function hasNews({ outcomes, starts, progress, logs, holding }: Exchange): boolean {
  return holding !== undefined || [outcomes, starts, progress, logs].some(({ length }) => length > 0)
}

export interface NewLogLine {
  at: number
  attempt: number
  level: LogLevel
  message: string
  details: string | null
}

/** What a worker may run. Stays the same object for its whole life. */
export interface Able {
  queues: readonly string[]
  /** Tasks this worker has code for; others are left for workers that do. */
  names: readonly string[]
  capabilities: Capabilities
}

export interface Want {
  able: Able
  /** How many it can start at once. */
  start: number
  /** How many more it would hold ahead, because they are short. */
  ahead: number
  /** It holds nothing: it may take one suspect, alone. */
  empty: boolean
  /** Somebody waits to hear that there is nothing: where it is usual to look is not enough then. */
  thorough?: boolean
  /** Suspects that this worker has crashed on: if it can do nothing but crash, it should show that on others. */
  avoid?: readonly string[]
}

export interface Exchanged {
  claims: Claim[]
  /** Ids whose claim is not ours any more; nothing was written for them. */
  refused: string[]
  /** Ids held by this session that somebody asked to cancel. */
  cancels: string[]
  /** The session itself was ended by somebody: everything it held is gone. */
  sessionEnded: boolean
  /** Suspects wait for a worker that is empty. */
  suspectsWaiting: boolean
  /** When the next delayed task of these queues becomes due, if any. */
  nextDueInMs: number | null
  /** Everything is paused; left out when nothing was asked for. */
  paused?: boolean
  /** What it saw, and somebody else took first. */
  conflicts?: number
  /** Whatever waits may be held ahead: nothing of it is under a limit. */
  unlimited?: boolean
  /** The server may have lost its last commits. Nothing was claimed: the next exchange has to say what the worker is `holding`. */
  compare?: boolean
}

/** Runs inside the completing transaction. Synchronous on SQLite, where a thenable rolls back. */
export type Effects = (tx: any) => unknown
