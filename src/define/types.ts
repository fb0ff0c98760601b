import type { StandardSchemaV1 as Std } from '@standard-schema/spec'
import type { Duration } from '../duration.ts'
import type { Strategy } from '../model/queue.ts'
import type { Backoff } from '../model/retry.ts'
import type { Failure, LogLevel, Requires } from '../model/task.ts'
import type { Resources, Used } from './resource.ts'

/** Open for users: `declare module 'gleaner' { interface Register { tx: PoolClient } }`. */
// biome-ignore lint/suspicious/noEmptyInterface: declaration merging needs an interface
export interface Register {}
/** The connection that `ctx.complete` passes to your effects. Set its type with `Register`. */
export type Tx = Register extends { tx: infer T } ? T : SqliteTx

/** The part of a better-sqlite3 connection that a transaction needs. */
export interface SqliteTx {
  /** Compiles a statement. See better-sqlite3. */
  prepare(sql: string): {
    run(...parameters: any[]): { changes: number }
    get(...parameters: any[]): any
    all(...parameters: any[]): any[]
  }
  /** True inside a transaction. */
  readonly inTransaction: boolean
}

/** The part of a `node:sqlite` connection that a transaction needs. */
export interface NodeSqliteTx {
  /** Compiles a statement. See `node:sqlite`. */
  prepare(sql: string): object
  /** True inside a transaction. */
  readonly isTransaction: boolean
}

/** The part of a PostgreSQL client that a transaction needs: `pg`, or any client with the same `query`. */
export interface PostgresTx {
  /** Runs a statement with parameters `$1`, `$2`, … */
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
  /** The id of the task, or the key of the row. */
  readonly id: string
  /** The name of the task or the discovery. */
  readonly name: string
  /** The number of this attempt, from 1. */
  readonly attempt: number
  /** A number that grows with every claim in this database. Store it beside your own effects, and refuse writes with a lower number. */
  readonly fence: number
  /** True: the item was in flight when a worker crashed. It runs alone until it is known which item was to blame. */
  readonly suspect: boolean
  /** Aborts when the task is cancelled, the time-out passes, the worker stops or the claim is lost. `reason` says which. */
  readonly signal: AbortSignal
  /** The loaded resources of `uses`, by name. */
  readonly use: Used<U>
  /** Writes a line to the log of the task: `ctx.log.info('started', { path })`. */
  readonly log: Record<LogLevel, (message: string, details?: object) => void>
  /** Reports how far the run is, from 0 to 1, with a message for people. The last report is stored within a moment. */
  progress(fraction: number, message?: string): Promise<void>
  /** Enqueues another task. */
  enqueue: Enqueue
  /** `return ctx.complete(result, (tx) => …)` commits your writes and the completion in one transaction: both or neither. */
  complete<T>(result: T, effects: (tx: Tx) => void | Promise<void>): Promise<T>
  /** Runs the function in a transaction. Its writes and the step are one commit: `{ atomic: true }`. On SQLite it must be synchronous. */
  step<T>(
    name: string,
    run: (tx: Tx) => T,
    options: StepOptions & { atomic: true },
  ): Promise<Stored<Awaited<T>>>
  /** Calls the function once, and keeps its result. A later attempt gets the result that was kept, and does not call it again. */
  step<T>(
    name: string,
    run: (step: StepContext) => T,
    options?: StepOptions & { atomic?: false },
  ): Promise<Stored<Awaited<T>>>
  /** Ends this run, and runs the handler again after this time. Meanwhile it holds no slot, no lease and no memory, and no attempt is charged. */
  sleep(name: string, duration: Duration): Promise<void>
  /** The same until a point in time. */
  sleepUntil(name: string, date: Date): Promise<void>
  /** The same, without a name of its own. */
  sleepUntil(date: Date): Promise<void>
  /**
   * Waits for a signal that `gleaner.signal` sends, and resolves with its payload. If it has not come yet, the run ends, and the handler runs again
   * when it comes. Meanwhile it holds no slot, no lease and no memory, and no attempt is charged. Rejects with `SignalTimeout` after `timeout`.
   */
  waitFor<S extends Std>(signal: string, options: WaitForOptions & { schema: S }): Promise<Std.InferOutput<S>>
  /** The same without a schema. */
  waitFor<T = any>(signal: string, options?: WaitForOptions): Promise<T>
  /** Enqueues a child and resolves with its result. Meanwhile this run holds no slot, no lease and no memory. Rejects with ChildFailed. */
  run<I, R>(task: Task<I, R>, ...args: RunArgs<NoInfer<I>>): Promise<Stored<R>>
  /**
   * How the tasks ended that this one waited for: those of `after`, or of the batch that it is the `then` of. Read a page at a time, in the order
   * in which they were enqueued.
   */
  outcomes(): AsyncIterable<ChildOutcome<any>>
  /** Enqueues a child for each input, waits for all, and resolves with the outcome of each. */
  all<I, R>(
    name: string,
    task: Task<I, R>,
    inputs: readonly NoInfer<I>[],
    options: AllOptions & { onFailure: 'collect' },
  ): Promise<ChildOutcome<R>[]>
  /** Enqueues a child for each input, and resolves with their results. Rejects with ChildFailed when the first one does not complete. */
  all<I, R>(
    name: string,
    task: Task<I, R>,
    inputs: readonly NoInfer<I>[],
    options?: AllOptions & { onFailure?: 'fail' },
  ): Promise<Stored<R>[]>
}

/** Options for one child. */
export type RunOptions = Pick<
  EnqueueOptions,
  'priority' | 'requires' | 'queue' | 'retry' | 'timeout' | 'key' | 'keyScope' | 'runAfter'
>

/** Options for all children of one call. */
export interface AllOptions
  extends Pick<EnqueueOptions, 'priority' | 'requires' | 'queue' | 'retry' | 'timeout'> {
  /** How many of them are queued or run at the same time. Default: all of them. */
  concurrency?: number
  /** `'fail'` (default): rejects with ChildFailed when the first one does not complete. `'collect'`: waits for all, and resolves with the outcome of each. */
  onFailure?: 'fail' | 'collect'
}

/** How one child ended. */
export type ChildOutcome<R> =
  | {
      /** The id of the child. */
      id: string
      /** It completed. */
      status: 'completed'
      /** Its result. */
      result: Stored<R>
    }
  | {
      /** The id of the child. */
      id: string
      /** It did not complete. */
      status: 'failed' | 'cancelled' | 'removed'
      /** Its error. Null if it has none. */
      error: Failure | null
    }

/** How one step runs. */
export interface StepOptions {
  /** How often the function is called again before the step, and with it the attempt, fails. Default: it is called once. */
  retry?: Retry
  /** How long one call may take. `step.signal` aborts then. Default: as long as the attempt. */
  timeout?: Duration
  /** Checks the result, also a result that an earlier version of the code kept. */
  schema?: Std
  /** Hands the function a transaction: its writes and the step are one commit. */
  atomic?: boolean
}

/** How a run waits for a signal. */
export interface WaitForOptions {
  /** Checks the payload. A payload that does not fit fails the task for good. */
  schema?: Std
  /** How long to wait, counted from the first time that a run comes to it. Default: for ever. */
  timeout?: Duration
}

/** The target of a signal: the id of a task, the key that a task holds, or a row. */
export type SignalTarget =
  | string
  | { task: Task<any, any> | string; key: string }
  | { discovery: string; row: string }

/** Sends a signal to one task or row. */
export type SendSignal = (target: SignalTarget, signal: string, payload?: unknown) => Promise<SignalSent>

/** The same inside a transaction of SQLite: at once. */
export type SendSignalNow = (target: SignalTarget, signal: string, payload?: unknown) => SignalSent

/** What became of a signal. */
export interface SignalSent {
  /** True: it waited for this signal, and runs again now. False: the signal is kept until a run waits for it. */
  resumed: boolean
}

/** What a step's function gets. */
export interface StepContext {
  /** The number of this call, from 1. */
  readonly attempt: number
  /** The last cursor that an earlier attempt saved. Undefined if there is none. */
  readonly cursor: any
  /** Saves how far a loop is. The next attempt begins with the last cursor that was kept, some 100 ms old at most. */
  readonly save: SaveCursor
  /** Aborts with the run, or when the step's own time-out passes. */
  readonly signal: AbortSignal
}

/** Saves any JSON value as the cursor of a step. */
export type SaveCursor = (cursor: unknown) => Promise<void>

/** Retry options that can be stored with a task. */
export interface StoredRetry {
  /** How many attempts there are in all, with the first. Default 3. */
  attempts?: number
  /** How the delay grows: `'exponential'` (default), `'linear'` or `'fixed'`. */
  backoff?: Backoff
  /** The first delay. Default 1 s. */
  base?: Duration
  /** The longest delay. Default 5 min. */
  max?: Duration
  /** Each delay varies at random by this share. Default 0.1, which is ±10 %. */
  jitter?: number
}

/** How often and when a failed attempt runs again. */
export interface Retry extends Omit<StoredRetry, 'backoff'> {
  /** How the delay grows, or a function that returns the delay before the attempt after this one. */
  backoff?: Backoff | ((attempt: number) => Duration)
}

declare const types: unique symbol

/** The definition of a task. The database stores its name, and the process that runs it has its code. */
export interface Task<I = any, R = any, P = any> {
  /** The name that `defineTask` got. */
  readonly name: string
  /** The queue of the task. */
  readonly queue: string
  readonly [types]?: { input: (i: I) => I; parsed: P; result: R }
}

/** What `defineTask` takes, beside the schemas and the function. */
// biome-ignore lint/complexity/noBannedTypes: no resources
export interface TaskOptions<U extends Resources = {}> {
  /** Identifies the task in the database: 1 to 100 letters, digits, dots, colons, dashes and underscores. */
  name: string
  /** The queue of its tasks. Default 'default'. */
  queue?: string
  /** How often and when a failed attempt runs again. Default 3 attempts, exponential backoff from 1 s to 5 min, ±10 %. */
  retry?: Retry
  /** How long one attempt may take. Default 1 h. */
  timeout?: Duration
  /** Only workers with these capabilities run the task. `defineTask` also takes a function of the input. */
  requires?: Requires
  /** Resources for `ctx.use`. A process loads each once, before the first run that needs it. */
  uses?: U
  /** Runs the task on a schedule: an interval (`'10m'`) or a cron expression (`'0 3 * * *'`) with 5 fields, or 6 with seconds. */
  every?: Duration | string
  /** The time zone of the cron expression. Default `'UTC'`. */
  timezone?: string
  /**
   * Which of its waiting tasks takes the next turn of this type: `'fifo'`, `'lifo'`, `'priority'` or `'weighted'`. When this type has a turn, the queue
   * decides. Default: the strategy of the queue.
   */
  strategy?: Strategy
}

/** The input that `enqueue` takes for a schema. */
export type InputOf<S> = S extends Std ? Std.InferInput<S> : void
/** The input that the handler gets for a schema. */
export type ParsedOf<S> = S extends Std ? Std.InferOutput<S> : undefined
/** The result of a task: what `output` says, or what `run` returns. */
export type ResultOf<O, R> = O extends Std ? Std.InferOutput<O> : Awaited<R>

/** A reference to a task. It works in every process, also for a task that another process runs later. */
export interface Handle<R> {
  /** The id of the task. */
  readonly id: string
  /** False when another task already held the key. `id` is then that task. */
  readonly created: boolean
  /** Waits for the result. Rejects with TaskFailed, TaskCancelled, TaskGone or WaitTimeout. */
  result(options?: { timeout?: Duration }): Promise<Stored<R>>
  /** Cancels the task. If it is running, in any process, its `ctx.signal` aborts. */
  cancel(): Promise<void>
}

/** How and when one task runs. */
export interface EnqueueOptions {
  /** An integer from 1 (first) to 1000 (last); default 100. */
  priority?: number
  /** Runs the task after this delay, or at this time. */
  runAfter?: Duration | Date
  /** Unique among the tasks of one name: while the task is unfinished, or with `keyScope: 'forever'` until it is removed. */
  key?: string
  /** `'active'` (default): the key is free again when the task is finished. `'forever'`: when the task is removed. */
  keyScope?: 'active' | 'forever'
  /** If another task holds the key: `'keep'` (default) leaves that task as it is, `'replace'` gives it this input. */
  whenHeld?: 'keep' | 'replace'
  /** The task runs when no other enqueue with this key has followed for this long. It gets the last input. */
  debounce?: Duration
  /** With `debounce`: the task runs after this long at the latest, even if more enqueues follow. */
  maxWait?: Duration
  /** At most one task with this key in this period: the first one. */
  throttle?: Duration
  /** Only workers with these capabilities run the task. Added to those of its definition. */
  requires?: Requires
  /** Another queue than the one of its definition. */
  queue?: string
  /** Another retry policy than the one of its definition. */
  retry?: StoredRetry
  /** Another time-out than the one of its definition. */
  timeout?: Duration
  /** The task runs when these have ended: handles, or ids. Until then it is suspended. */
  after?: readonly (string | Pick<Handle<any>, 'id'>)[]
  /**
   * With `after`, if one of them fails, is cancelled or removed: `'fail'` (default) fails this task, too, `'cancel'` cancels it, and `'run'` runs it
   * when all have ended.
   */
  onFailure?: 'fail' | 'run' | 'cancel'
}

/** Options for all tasks of one call of `enqueueMany`. */
export interface EnqueueManyOptions<I> extends Omit<EnqueueOptions, 'key'> {
  /** Writes all tasks in one transaction: all or none. Default: chunks, each of which is durable. */
  atomic?: boolean
  /** Returns the key of each task. */
  key?: (input: I) => string
}

/** A task without a schema takes no input. A task of type `any` takes any input. */
export type InputArgs<I> =
  IsAny<I> extends true
    ? [input?: any, options?: EnqueueOptions]
    : [I] extends [void]
      ? [input?: undefined, options?: EnqueueOptions]
      : [input: I, options?: EnqueueOptions]
/** The same for a child. */
export type RunArgs<I> =
  IsAny<I> extends true
    ? [input?: any, options?: RunOptions]
    : [I] extends [void]
      ? [input?: undefined, options?: RunOptions]
      : [input: I, options?: RunOptions]
/** True for the type `any` alone. */
type IsAny<T> = 0 extends 1 & T ? true : false

/** Enqueues one task. When the promise resolves, the task is stored. */
export type Enqueue = <I, R>(task: Task<I, R>, ...args: InputArgs<NoInfer<I>>) => Promise<Handle<R>>
/** Enqueues one task inside a transaction of SQLite, at once. */
export type EnqueueNow = <I, R>(task: Task<I, R>, ...args: InputArgs<NoInfer<I>>) => Handle<R>
