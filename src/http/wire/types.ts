/** What crosses the wire, as types only: the dashboard and other clients import nothing else of Gleaner. */

import type { DiscoveryStats } from '../../discovery/stats.ts'
import type { ErrorCode } from '../../errors.ts'
import type { Role } from '../../model/action.ts'
import type { Alert } from '../../model/alerts.ts'
import type { Metrics } from '../../model/metrics.ts'
import type { QueueRecord } from '../../model/queue.ts'
import type { Retention } from '../../model/retention.ts'
import type { ScheduleRecord } from '../../model/schedule.ts'
import type { Counts, Requires, TaskRecord } from '../../model/task.ts'
import type { Health, WorkerRecord } from '../../model/worker.ts'
import type { AppliedMigration, BackupRecord } from '../../store/ports/maintenance.ts'
import type { DiscoveryRecord } from '../../store/ports/rows.ts'

export type { ActionRecord as Action, Role } from '../../model/action.ts'
export type { Alert } from '../../model/alerts.ts'
export type { Explanation } from '../../model/explanation.ts'
export type { FlowBranch, FlowNode, FlowRecord, FlowTree } from '../../model/flow.ts'
export type { HealthRecord } from '../../model/health.ts'
export type { LimitState } from '../../model/limit.ts'
export type { DatabaseUse, Gauges, Metrics } from '../../model/metrics.ts'
export type { History, Range, Step } from '../../model/metrics-history.ts'
export type { QueueRecord as Queue } from '../../model/queue.ts'
export type { Reason } from '../../model/reasons.ts'
export type { RowRecord as Row } from '../../model/row.ts'
export type { RowHistory, RowStep } from '../../model/row-history.ts'
export type { StepRecord } from '../../model/step.ts'
export type { AttemptRecord as Attempt, Counts, LogLine, Page, TaskRecord as Task } from '../../model/task.ts'
export type { Lane, Stretch } from '../../model/timeline.ts'
export type { Health, Phase, WorkerRecord as Worker, WorkerStatus } from '../../model/worker.ts'
export type { BulkAnswer } from '../../queue/bulk.ts'
export type { BackupRecord as Backup } from '../../store/ports/maintenance.ts'
export type { SupervisorRecord as Supervisor } from '../../supervisor/reading.ts'

/** Codes of errors that only a server returns. */
export type HttpErrorCode =
  | 'BAD_HOST'
  | 'BAD_REQUEST'
  | 'CROSS_SITE'
  | 'FORBIDDEN'
  | 'INTERNAL'
  | 'METHOD_NOT_ALLOWED'
  | 'NOT_FOUND'
  | 'TOO_BUSY'
  | 'UNAUTHORIZED'
  | 'UNSUPPORTED_MEDIA_TYPE'

/** A line of the response to a long request, if the client accepts lines. The last line is an answer or an error. */
export type ProgressLine<T> = { progress: unknown } | { answer: T } | ErrorBody

/** The body of every response that is not a success. */
export interface ErrorBody {
  /** What went wrong, why, and what to do. */
  error: {
    code: ErrorCode | HttpErrorCode
    message: string
    hint: string | null
    /** The fields that are wrong, if any: `input.path`. */
    issues?: readonly { path: string; message: string }[]
  }
}

/** The server, and what the caller may do. */
export interface Info {
  /** The version of Gleaner. */
  version: string
  /** Which database it uses. */
  database: 'sqlite' | 'postgres'
  /** The machine that it runs on. */
  host: string
  /** Its process. */
  pid: number
  /** Of the server. */
  startedAt: number
  /** The time of the server, in milliseconds since 1970. */
  now: number
  /** True: everything is paused. `POST /resume` ends it. */
  paused: boolean
  /** What the caller may do. */
  role: Role
  /** The name of the caller, if there is one. */
  user: string | null
  /** True: a cookie identifies the caller. `DELETE /session` removes it. */
  signedIn: boolean
  /** The tasks that can be enqueued here. */
  tasks: { name: string; queue: string }[]
}

/** The answer to an enqueue. */
export interface Enqueued {
  /** The id of the task. */
  id: string
  /** False: another task held the key, and `id` is that task. */
  created: boolean
}

/** A task that can be enqueued here. */
export interface Definition {
  /** The name of the task. */
  name: string
  /** Its queue. */
  queue: string
  /** JSON Schema of its input. Null: the task has no schema, or its library cannot express it. */
  input: Record<string, unknown> | null
  /** False if the task takes no input. */
  hasInput: boolean
  /** How many attempts there are at most. */
  maxAttempts: number
  /** How long one attempt may take. */
  timeoutMs: number
  /** The capabilities that a worker needs. */
  requires: Requires | null
  /** True if they depend on the input. */
  computesRequires: boolean
  /** True if it runs on a schedule. */
  recurs: boolean
}

/** A schedule, with its next occurrences. */
export interface Schedule extends ScheduleRecord {
  /** The next occurrences. Empty while the schedule is paused. */
  upcoming: number[]
}

/** The database, the server and the supervisors. */
export interface System {
  /** This server. */
  server: { version: string; node: string; host: string; pid: number; startedAt: number; listeners: number }
  /** The database that it uses. */
  database: {
    kind: 'sqlite' | 'postgres'
    bytes: number
    /** Null: the log is not a file beside the database. */
    walBytes: number | null
    durability: 'full' | 'normal'
    migrations: AppliedMigration[]
  }
  /** Backups that Gleaner made, or failed to make, the newest first. PostgreSQL has tools of its own. */
  backups: BackupRecord[]
  /** How long finished tasks are kept. */
  retention: Retention
  /** Every supervisor that has used this database. */
  supervisors: {
    name: string
    term: number
    host: string
    pid: number
    since: number
    unseenMs: number
    left: boolean
    workers: number
  }[]
  /** Totals of all processes, since the database was created. */
  totals: {
    enqueued: number
    completed: number
    failed: number
    retried: number
    rowsDone: number
    /** Counts by kind of failure. `fenced`: late writes that were refused. */
    incidents: Record<string, number>
  }
}

/** Numbers of now. */
export type Stats = Metrics & { counts: Counts }

type Nullable<T> = { [K in keyof T]: T[K] | null }

/** The declaration and the progress. Without numbers: the table cannot be read. */
export type Discovery = DiscoveryRecord & Nullable<Omit<DiscoveryStats, 'name' | 'paused' | 'pausedReason'>>

/** Whether workers are healthy, and which alerts there are. */
export interface HealthReport {
  /** The worst health of all components. Healthy if there are none. */
  status: Health
  /** The workers, and the components of yours that a health monitor reports. */
  components: ComponentHealth[]
  /** Alerts that a person should look at. */
  alerts: Alert[]
}

/** The health of a worker or of a component of yours. */
export interface ComponentHealth {
  /** The id of the worker or of the component. */
  id: string
  /** Its health. */
  status: Health
  /** A worker of Gleaner, or a component that a health monitor of yours reports. */
  kind: 'worker' | 'component'
  /** Since when it has this status. Null: a worker. */
  since: number | null
  /** What it works on. */
  item: string | null
  /** True: its process no longer reports it. */
  lost: boolean
}

/** An event of the stream, by its name. */
export interface ServerEvents {
  /** The number of tasks in each status, in total and in each queue, and whether everything is paused. */
  counts: { counts: Counts; queues: QueueRecord[]; paused: boolean }
  /** How many rows are in each state. */
  discoveries: { discoveries: Omit<Discovery, 'asOf'>[] }
  /** All workers, as after the last change. */
  workers: { workers: WorkerRecord[] }
  /** Health and alerts. */
  health: HealthReport
  /** A task that this client watches. Null: it was removed. */
  task: { id: string; task: Omit<TaskRecord, 'input' | 'result'> | null }
  /** The client missed events that are no longer stored. The current state follows. */
  gap: { reason: 'restarted' | 'too-late' }
}
