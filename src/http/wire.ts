/** What crosses the wire, as types only: the dashboard and other clients import nothing else of Gleaner. */

import type { DiscoveryStats } from '../discovery/stats.ts'
import type { ErrorCode } from '../errors.ts'
import type { Role } from '../model/action.ts'
import type { Alert } from '../model/alerts.ts'
import type { Metrics } from '../model/metrics.ts'
import type { QueueRecord } from '../model/queue.ts'
import type { Counts, TaskRecord } from '../model/task.ts'
import type { Health, WorkerRecord } from '../model/worker.ts'
import type { DiscoveryRecord } from '../store/contract.ts'

export type { ActionRecord as Action, Role } from '../model/action.ts'
export type { Alert } from '../model/alerts.ts'
export type { Explanation } from '../model/explanation.ts'
export type { HealthRecord } from '../model/health.ts'
export type { Gauges, Metrics } from '../model/metrics.ts'
export type { QueueRecord as Queue } from '../model/queue.ts'
export type { Reason } from '../model/reasons.ts'
export type { RowRecord as Row } from '../model/row.ts'
export type { ScheduleRecord as Schedule } from '../model/schedule.ts'
export type { AttemptRecord as Attempt, Counts, LogLine, Page, TaskRecord as Task } from '../model/task.ts'
export type { Health, Phase, WorkerRecord as Worker, WorkerStatus } from '../model/worker.ts'
export type { BulkAnswer } from '../queue/bulk.ts'

/** What only a server has to say. */
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

/** The body of every answer that is no success. */
export interface ErrorBody {
  error: {
    code: ErrorCode | HttpErrorCode
    message: string
    hint: string | null
    /** Which fields are wrong, where some are: `input.path`. */
    issues?: readonly { path: string; message: string }[]
  }
}

export interface Info {
  version: string
  database: 'sqlite' | 'postgres'
  host: string
  pid: number
  /** Of the server. */
  startedAt: number
  now: number
  /** What whoever asks may do. */
  role: Role
  user: string | null
  /** The tasks that can be enqueued here. */
  tasks: { name: string; queue: string }[]
}

export interface Enqueued {
  id: string
  /** False: the key was held, and `id` is its holder. */
  created: boolean
}

export type Stats = Metrics & { counts: Counts }

type Nullable<T> = { [K in keyof T]: T[K] | null }

/** What was declared, and how it goes. No numbers: its table cannot be read. */
export type Discovery = DiscoveryRecord & Nullable<Omit<DiscoveryStats, 'name' | 'paused'>>

export interface HealthReport {
  /** The worst of all components; without any, healthy. */
  status: Health
  components: { id: string; status: Health }[]
  /** What a person should look at. */
  alerts: Alert[]
}

/** An event of the stream, by its name. */
export interface ServerEvents {
  /** How many tasks there are in each status, over all and in each queue. */
  counts: { counts: Counts; queues: QueueRecord[] }
  discoveries: { discoveries: Omit<Discovery, 'asOf'>[] }
  workers: { workers: WorkerRecord[] }
  health: HealthReport
  /** A task that this client watches; null: it was removed. */
  task: { id: string; task: Omit<TaskRecord, 'input' | 'result'> | null }
  /** Events were missed that cannot be had any more. What is so now follows. */
  gap: { reason: 'restarted' | 'too-late' }
}
