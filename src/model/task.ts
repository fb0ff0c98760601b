import type { FailureKind } from '../errors.ts'

export type { FailureKind }

/** What a task is, as every reader sees it: library, command line and HTTP alike. */

export const TASK_STATUSES = [
  'scheduled',
  'queued',
  'running',
  'suspended',
  'completed',
  'failed',
  'cancelled',
] as const
/** Where a task is in its life. */
export type TaskStatus = (typeof TASK_STATUSES)[number]

export const FINISHED_STATUSES = ['completed', 'failed', 'cancelled'] as const
/** The status of a task that will not run again by itself. */
export type FinishedStatus = (typeof FINISHED_STATUSES)[number]

export function isFinished(status: TaskStatus): status is FinishedStatus {
  return (FINISHED_STATUSES as readonly string[]).includes(status)
}

/** Why an attempt failed. */
export interface Failure {
  /** Whether the handler threw, timed out, crashed its worker, or failed for good. */
  kind: FailureKind
  /** What the error said. */
  message: string
  /** The stack of the error, if it had one. */
  stack: string | null
}

/** How far a run is. */
export interface Progress {
  /** From 0 to 1. */
  fraction: number
  /** What the handler said with it. */
  message: string | null
}

/** Capabilities that a worker must have to run a task. */
export type Requires = Record<string, string | number | boolean>

/** A task as it is stored. Times are in milliseconds since 1970. */
export interface TaskRecord {
  /** Identifies the task in its database. */
  id: string
  /** The name of its definition. */
  name: string
  /** The queue that it waits in. */
  queue: string
  /** Where it is in its life. */
  status: TaskStatus
  /** From 1 (first) to 1000 (last). */
  priority: number
  /** Attempts so far that count. Returned ones do not. */
  attempts: number
  /** After this many failed attempts it stays failed. */
  maxAttempts: number
  /** How often its worker process died while it ran. */
  crashes: number
  /** What was enqueued. A listing shortens large ones. */
  input: unknown
  /** What `run` returned. Null until it is completed. */
  result: unknown
  /** The error of the last failed attempt. */
  error: Failure | null
  /** What the handler reported last. */
  progress: Progress | null
  /** The unique key that it holds. */
  key: string | null
  /** The capabilities that a worker needs to run it. */
  requires: Requires | null
  /** The worker that holds it, or that ran it last. */
  worker: string | null
  /** When it was enqueued. */
  createdAt: number
  /** When it may run at the earliest. Null: at once. */
  runAfter: number | null
  /** When its last attempt began. */
  startedAt: number | null
  /** When it was completed, failed or was cancelled. */
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
  | 'suspended'
  | 'returned'
  | 'lease'
  | FailureKind

/** One attempt at a task. */
export interface AttemptRecord {
  /** The number of the attempt, from 1. An attempt that was returned has the same number as the next one. */
  attempt: number
  /** The worker that ran it. */
  worker: string | null
  /** How it ended. */
  outcome: AttemptOutcome
  /** Milliseconds since 1970. Null if the worker never started it. */
  startedAt: number | null
  /** Milliseconds since 1970. Null while it runs. */
  finishedAt: number | null
  /** Why it failed. */
  error: Failure | null
}

/** How important a log line is. */
export const LOG_LEVELS = ['debug', 'info', 'warn', 'error'] as const
/** How important a line of a log is. */
export type LogLevel = (typeof LOG_LEVELS)[number]

/** A line that a handler wrote with `ctx.log`. */
export interface LogLine {
  /** Milliseconds since 1970. */
  at: number
  /** The attempt that wrote it. */
  attempt: number
  /** How important it is. */
  level: LogLevel
  /** The text. */
  message: string
  /** The object that the handler passed with it. */
  details: unknown
}

/** Every listing: pass `next` as `cursor` for the following page. */
export interface Page<T> {
  /** The entries of this page. */
  items: T[]
  /** The cursor of the next page. Null on the last one. */
  next: string | null
}
