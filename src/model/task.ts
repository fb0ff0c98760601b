import type { FailureKind } from '../errors.ts'

export type { FailureKind }

/** What a task is, as every reader sees it: library, command line and HTTP alike. */

export const TASK_STATUSES = ['scheduled', 'queued', 'running', 'completed', 'failed', 'cancelled'] as const
export type TaskStatus = (typeof TASK_STATUSES)[number]

export const FINISHED_STATUSES = ['completed', 'failed', 'cancelled'] as const
export type FinishedStatus = (typeof FINISHED_STATUSES)[number]

export function isFinished(status: TaskStatus): status is FinishedStatus {
  return (FINISHED_STATUSES as readonly string[]).includes(status)
}

export interface Failure {
  kind: FailureKind
  message: string
  stack: string | null
}

export interface Progress {
  fraction: number
  message: string | null
}

export type Requires = Record<string, string | number | boolean>

export interface TaskRecord {
  id: string
  name: string
  queue: string
  status: TaskStatus
  priority: number
  attempts: number
  maxAttempts: number
  crashes: number
  input: unknown
  result: unknown
  error: Failure | null
  progress: Progress | null
  key: string | null
  requires: Requires | null
  worker: string | null
  createdAt: number
  runAfter: number | null
  startedAt: number | null
  finishedAt: number | null
}

/** How many rows there are now in each status. */
export type Counts = Record<TaskStatus, number>

/** How one attempt at a task ended, or `running` for the one under way. */
export type AttemptOutcome =
  | 'running'
  | 'completed'
  | 'cancelled'
  | 'later'
  | 'returned'
  | 'lease'
  | FailureKind

export interface AttemptRecord {
  attempt: number
  worker: string | null
  outcome: AttemptOutcome
  startedAt: number | null
  finishedAt: number | null
  error: Failure | null
}

export type LogLevel = 'debug' | 'info' | 'warn' | 'error'

export interface LogLine {
  at: number
  attempt: number
  level: LogLevel
  message: string
  details: unknown
}

/** Every listing: pass `next` as `cursor` for the following page. */
export interface Page<T> {
  items: T[]
  next: string | null
}
