import type { StandardSchemaV1 as Std } from '@standard-schema/spec'
import type { Duration } from '../duration.ts'
import type { Backoff } from '../model/retry.ts'
import type { LogLevel, Requires } from '../model/task.ts'
import type { Resources, Used } from './resource.ts'

/** Open for users: `declare module 'gleaner' { interface Register { tx: PoolClient } }`. */
// biome-ignore lint/suspicious/noEmptyInterface: declaration merging needs an interface
export interface Register {}
export type Tx = Register extends { tx: infer T } ? T : SqliteTx

/** The part of a better-sqlite3 connection that a transaction needs. */
export interface SqliteTx {
  prepare(sql: string): {
    run(...parameters: any[]): { changes: number }
    get(...parameters: any[]): any
    all(...parameters: any[]): any[]
  }
  readonly inTransaction: boolean
}

/** The part of a `node:sqlite` connection that a transaction needs. */
export interface NodeSqliteTx {
  prepare(sql: string): object
  readonly isTransaction: boolean
}

/** The part of a PostgreSQL client that a transaction needs: `pg`, or any client with the same `query`. */
export interface PostgresTx {
  query(text: string, values?: any[]): Promise<{ rows: any[] }>
}

/** A value after it was written as JSON and read again. Stored results have this type. */
export type Stored<T> = T extends { toJSON(): infer J }
  ? Stored<J>
  : T extends string | number | boolean | null | undefined
    ? T
    : T extends void
      ? undefined
      : T extends bigint | symbol | ((...a: any[]) => any)
        ? never
        : T extends object
          ? { [K in keyof T]: Stored<T[K]> }
          : unknown

/** The second argument of a handler, beside its input. */
// biome-ignore lint/complexity/noBannedTypes: no resources, which is what most handlers use
export interface Context<U extends Resources = {}> {
  readonly id: string
  readonly name: string
  /** The number of this attempt, from 1. */
  readonly attempt: number
  /** A number that grows with every claim in this database. Store it beside your own effects, and refuse writes with a lower number. */
  readonly fence: number
  /** Aborts when the task is cancelled, the time-out passes, the worker stops or the claim is lost. `reason` says which. */
  readonly signal: AbortSignal
  /** The loaded resources of `uses`, by name. */
  readonly use: Used<U>
  readonly log: Record<LogLevel, (message: string, details?: object) => void>
  progress(fraction: number, message?: string): Promise<void>
  enqueue: Enqueue
  /** `return ctx.complete(result, (tx) => …)` commits your writes and the completion in one transaction: both or neither. */
  complete<T>(result: T, effects: (tx: Tx) => void | Promise<void>): Promise<T>
}

/** Retry options that can be stored with a task. */
export interface StoredRetry {
  attempts?: number
  backoff?: Backoff
  base?: Duration
  max?: Duration
  jitter?: number
}

export interface Retry extends Omit<StoredRetry, 'backoff'> {
  backoff?: Backoff | ((attempt: number) => Duration)
}

declare const types: unique symbol

/** The definition of a task. The database stores its name, and the process that runs it has its code. */
export interface Task<I = any, R = any, P = any> {
  readonly name: string
  readonly queue: string
  readonly [types]?: { input: (i: I) => I; parsed: P; result: R }
}

// biome-ignore lint/complexity/noBannedTypes: no resources
export interface TaskOptions<U extends Resources = {}> {
  name: string
  /** The queue of its tasks. Default 'default'. */
  queue?: string
  /** How often and when a failed attempt runs again. Default 3 attempts, exponential backoff from 1 s to 5 min, ±10 %. */
  retry?: Retry
  /** How long one attempt may take. Default 1 h. */
  timeout?: Duration
  /** Only workers with these capabilities run the task. */
  requires?: Requires
  /** Resources for `ctx.use`. A process loads each once, before the first run that needs it. */
  uses?: U
  /** Runs the task on a schedule: an interval (`'10m'`) or a cron expression (`'0 3 * * *'`) with 5 fields, or 6 with seconds. */
  every?: Duration | string
  /** The time zone of the cron expression. Default `'UTC'`. */
  timezone?: string
}

export type InputOf<S> = S extends Std ? Std.InferInput<S> : void
export type ParsedOf<S> = S extends Std ? Std.InferOutput<S> : undefined
export type ResultOf<O, R> = O extends Std ? Std.InferOutput<O> : Awaited<R>

/** A reference to a task. It works in every process, also for a task that another process runs later. */
export interface Handle<R> {
  readonly id: string
  /** False when another task already held the key. `id` is then that task. */
  readonly created: boolean
  /** Waits for the result. Rejects with TaskFailed, TaskCancelled, TaskGone or WaitTimeout. */
  result(options?: { timeout?: Duration }): Promise<Stored<R>>
  /** Cancels the task. If it is running, in any process, its `ctx.signal` aborts. */
  cancel(): Promise<void>
}

export interface EnqueueOptions {
  /** An integer from 1 (first) to 1000 (last); default 100. */
  priority?: number
  runAfter?: Duration | Date
  /** Unique among the tasks of one name: while the task is unfinished, or with `keyScope: 'forever'` until it is removed. */
  key?: string
  keyScope?: 'active' | 'forever'
  /** If another task holds the key: `'keep'` (default) leaves that task as it is, `'replace'` gives it this input. */
  whenHeld?: 'keep' | 'replace'
  /** The task runs when no other enqueue with this key has followed for this long. It gets the last input. */
  debounce?: Duration
  /** With `debounce`: the task runs after this long at the latest, even if more enqueues follow. */
  maxWait?: Duration
  /** At most one task with this key in this period: the first one. */
  throttle?: Duration
  requires?: Requires
  queue?: string
  retry?: StoredRetry
  timeout?: Duration
}

export interface EnqueueManyOptions<I> extends Omit<EnqueueOptions, 'key'> {
  /** Writes all tasks in one transaction: all or none. Default: chunks, each of which is durable. */
  atomic?: boolean
  key?: (input: I) => string
}

/** A task without a schema takes no input. A task of type `any` takes any input. */
export type InputArgs<I> =
  IsAny<I> extends true
    ? [input?: any, options?: EnqueueOptions]
    : [I] extends [void]
      ? [input?: undefined, options?: EnqueueOptions]
      : [input: I, options?: EnqueueOptions]
type IsAny<T> = 0 extends 1 & T ? true : false

export type Enqueue = <I, R>(task: Task<I, R>, ...args: InputArgs<NoInfer<I>>) => Promise<Handle<R>>
export type EnqueueNow = <I, R>(task: Task<I, R>, ...args: InputArgs<NoInfer<I>>) => Handle<R>
