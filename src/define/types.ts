import type { StandardSchemaV1 as Std } from '@standard-schema/spec'
import type { Duration } from '../duration.ts'
import type { Backoff } from '../model/retry.ts'
import type { LogLevel, Requires } from '../model/task.ts'
import type { Resources, Used } from './resource.ts'

/** Open for users: `declare module 'gleaner' { interface Register { tx: PoolClient } }`. */
// biome-ignore lint/suspicious/noEmptyInterface: declaration merging needs an interface
export interface Register {}
export type Tx = Register extends { tx: infer T } ? T : SqliteTx

/** As much of a better-sqlite3 connection as a transaction needs. */
export interface SqliteTx {
  prepare(sql: string): {
    run(...parameters: any[]): { changes: number }
    get(...parameters: any[]): any
    all(...parameters: any[]): any[]
  }
  readonly inTransaction: boolean
}

/** As much of a connection of `node:sqlite` as a transaction needs. */
export interface NodeSqliteTx {
  prepare(sql: string): object
  readonly isTransaction: boolean
}

/** As much of a PostgreSQL client as a transaction needs: `pg`, or anything with the same `query`. */
export interface PostgresTx {
  query(text: string, values?: any[]): Promise<{ rows: any[] }>
}

/** What JSON makes of a value: what a stored result really holds. */
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

/** What a handler is given beside its input. */
// biome-ignore lint/complexity/noBannedTypes: no resources, which is what most handlers use
export interface Context<U extends Resources = {}> {
  readonly id: string
  readonly name: string
  /** From 1. */
  readonly attempt: number
  /** Grows with every claim in this database: write it beside your own effects to refuse late writers. */
  readonly fence: number
  /** Aborts on cancel, time-out, stop and loss of the claim; `reason` says which. */
  readonly signal: AbortSignal
  /** What the resources of `uses` loaded. */
  readonly use: Used<U>
  readonly log: Record<LogLevel, (message: string, details?: object) => void>
  progress(fraction: number, message?: string): Promise<void>
  enqueue: Enqueue
  /** `return ctx.complete(result, (tx) => …)`: your writes and the completion commit together, or neither. */
  complete<T>(result: T, effects: (tx: Tx) => void | Promise<void>): Promise<T>
}

/** Can be stored with a task. */
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

/** A task's definition: its name is what is stored, its code is what runs. */
export interface Task<I = any, R = any, P = any> {
  readonly name: string
  readonly queue: string
  readonly [types]?: { input: (i: I) => I; parsed: P; result: R }
}

// biome-ignore lint/complexity/noBannedTypes: no resources
export interface TaskOptions<U extends Resources = {}> {
  name: string
  /** Default 'default'. */
  queue?: string
  /** Default 3 attempts, exponential from 1 s to 5 min, ±10 %. */
  retry?: Retry
  /** Default 1 h. */
  timeout?: Duration
  /** Only workers with these capabilities run it. */
  requires?: Requires
  /** What `run` finds in `ctx.use`; loaded before it, once per process. */
  uses?: U
  /** Recurs: at an interval (`'10m'`), or by a cron expression of 5 fields, or of 6 with seconds (`'0 3 * * *'`). */
  every?: Duration | string
  /** Of the cron expression; default `'UTC'`. */
  timezone?: string
}

export type InputOf<S> = S extends Std ? Std.InferInput<S> : void
export type ParsedOf<S> = S extends Std ? Std.InferOutput<S> : undefined
export type ResultOf<O, R> = O extends Std ? Std.InferOutput<O> : Awaited<R>

/** Where the answer will be: in this process, in another one, tomorrow. */
export interface Handle<R> {
  readonly id: string
  /** False when the key was held already; `id` is then its holder. */
  readonly created: boolean
  /** Rejects with TaskFailed, TaskCancelled, TaskGone or WaitTimeout. */
  result(options?: { timeout?: Duration }): Promise<Stored<R>>
  /** Also reaches a running task, in any process. */
  cancel(): Promise<void>
}

export interface EnqueueOptions {
  /** An integer from 1 (first) to 1000 (last); default 100. */
  priority?: number
  runAfter?: Duration | Date
  /** Unique per task name while the task is unfinished; with `keyScope: 'forever'` until it is removed. */
  key?: string
  keyScope?: 'active' | 'forever'
  /** When another task holds the key: `'keep'` (default) leaves it as it is, `'replace'` gives it this input. */
  whenHeld?: 'keep' | 'replace'
  /** Runs when nothing more was enqueued with this key for that long, with the last input. */
  debounce?: Duration
  /** With `debounce`: it runs after that long, even if more and more is enqueued. */
  maxWait?: Duration
  /** At most one task with this key in that time: the first. */
  throttle?: Duration
  requires?: Requires
  queue?: string
  retry?: StoredRetry
  timeout?: Duration
}

export interface EnqueueManyOptions<I> extends Omit<EnqueueOptions, 'key'> {
  /** One transaction for all instead of durable chunks. */
  atomic?: boolean
  key?: (input: I) => string
}

/** A task without a schema takes no input; `any` takes whatever there is. */
export type InputArgs<I> =
  IsAny<I> extends true
    ? [input?: any, options?: EnqueueOptions]
    : [I] extends [void]
      ? [input?: undefined, options?: EnqueueOptions]
      : [input: I, options?: EnqueueOptions]
type IsAny<T> = 0 extends 1 & T ? true : false

export type Enqueue = <I, R>(task: Task<I, R>, ...args: InputArgs<NoInfer<I>>) => Promise<Handle<R>>
export type EnqueueNow = <I, R>(task: Task<I, R>, ...args: InputArgs<NoInfer<I>>) => Handle<R>
