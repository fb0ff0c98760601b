import type { BatchEntry } from '../define/batch-entry.ts'
import type { Discovery } from '../define/discovery.ts'
import type { QueueOptions } from '../define/queue.ts'
import type { Telemetry } from '../define/telemetry.ts'
import type {
  Enqueue,
  EnqueueManyOptions,
  EnqueueNow,
  Handle,
  NodeSqliteTx,
  PostgresTx,
  SendSignal,
  SendSignalNow,
  SqliteTx,
  Stored,
  Task,
} from '../define/types.ts'
import type { DiscoveryManagement } from '../discovery/manage.ts'
import type { Duration } from '../duration.ts'
import type { GleanerError } from '../errors.ts'
import type { MaintenanceManagement } from '../maintenance/manage.ts'
import type { RetentionOptions } from '../maintenance/retention.ts'
import type { Capabilities } from '../model/capabilities.ts'
import type { Metrics } from '../model/metrics.ts'
import type { Strategy } from '../model/queue.ts'
import type { MetricsOptions } from '../observe/metrics.ts'
import type { BatchHandle, BatchManagement, BatchProgress, StartBatchOptions } from '../queue/batch.ts'
import type { QueueManagement, TaskManagement } from '../queue/manage.ts'
import type { ScheduleManagement } from '../queue/schedules.ts'
import type { SqliteSettings } from '../store/sqlite/drivers/driver.ts'
import type { Events } from '../worker/attempt/events.ts'
import type { Hooks } from '../worker/attempt/hooks.ts'
import type { PulledClaims } from '../worker/claims/pulled-claim.ts'
import type { WorkerManagement } from '../worker/manage.ts'
import type { OnPhase } from '../worker/state/phases.ts'
import type { WorkerSnapshot } from '../worker/state/snapshot.ts'

import type { HealthManagement } from './health.ts'

/** What `openGleaner` takes. */
export interface GleanerOptions {
  /** The database: `'sqlite:./app.db'`, a file of Gleaner's own or your app's, or `'postgres://…'` when one machine is not enough. */
  database: string
  /** Connection options for PostgreSQL, in addition to the URL. */
  postgres?: PostgresSettings
  /** Options for a SQLite file. */
  sqlite?: SqliteSettings
  /** All tasks that this process enqueues or runs. Default: none. */
  tasks?: readonly Task[]
  /** Discoveries of this process: rows of your own tables that need work. Checked against the database when it is opened. Default: none. */
  discoveries?: readonly Discovery[]
  /** Order and limits of queues. They are stored in the database: a queue that you do not name stays as it is. */
  queues?: Record<string, QueueOptions>
  /** `'full'`: an enqueued task survives a power cut. `'normal'`: it survives a crash of the process. Default `'full'`. */
  durability?: 'full' | 'normal'
  /** The largest input or result, in bytes of JSON. Default 1 MiB. */
  payloadLimit?: number
  /** How large other things may be. */
  limits?: SizeLimits
  /** How long finished tasks are kept. `false`: forever. Each process with a worker removes tasks by its own setting. */
  retention?: RetentionOptions | false
  /** Functions that run in the worker around each run. */
  hooks?: Hooks
  /** Traces work from the caller that enqueues it to the worker that runs it: `openTelemetry()` of `gleaner/telemetry`. */
  telemetry?: Telemetry
  /** The intervals of the engine. */
  timings?: TimingOptions
}

/** How large things may be, in bytes of JSON. */
export interface SizeLimits {
  /** The result or the cursor of one step. Default 256 KiB. */
  stepBytes?: number
}

/** The same options, with a connection of your app to its SQLite file. */
export interface ConnectedOptions extends Omit<GleanerOptions, 'database' | 'postgres' | 'sqlite'> {
  /**
   * An open connection of better-sqlite3 or `node:sqlite`. Gleaner opens the same file with the same library, on its own connections. Two
   * SQLite libraries in one process would release each other's file locks.
   */
  database: NodeSqliteTx | SqliteTx
}

/** Options for PostgreSQL, beside the URL. */
export interface PostgresSettings {
  /** The schema of Gleaner's tables. You can also set `?schema=` in the URL. Default `'gleaner'`. */
  schema?: string
  /** The largest number of connections in the pool. Default 10. */
  poolSize?: number
  /** How long a statement may take. Default 30 s. */
  statementTimeout?: Duration
  /** How long a statement may wait for a lock. Default 10 s. */
  lockTimeout?: Duration
  /** How long a connection attempt may take. Default 10 s. */
  connectTimeout?: Duration
  /** Set it to false behind PgBouncer in transaction mode. Gleaner then uses no notifications, which only adds latency, and no prepared statements. Default true. */
  notify?: boolean
  /**
   * Creates a trigger on the table of each discovery, so that workers find a row at once when your app writes it. Without it, workers find
   * such rows within half a second. Default false.
   */
  wakeTriggers?: boolean
  /** TLS, as the option `ssl` of `pg`: true, or { ca, cert, key, rejectUnauthorized, … }. */
  ssl?: boolean | object
}

/** The intervals of the engine. The defaults fit almost every app. Tests shorten them. */
export interface TimingOptions {
  /** A worker that does not renew its session for this long loses its claims. Default 30 s. */
  lease?: Duration
  /** How often to check for workers that are gone. Default 2 s. */
  sweep?: Duration
  /** How long a worker waits for a handler after it aborted its signal. Default 5 s. */
  grace?: Duration
  /** How long an idle worker waits for a wake-up before it polls for the first time. Default 1 s. */
  idleMin?: Duration
  /** The longest wait of an idle worker between two polls. Default 30 s. */
  idleMax?: Duration
  /** How often to poll for results and cancellations if no wake-up arrives. Default 1 s. */
  poll?: Duration
  /** How often this process writes its counters for `metrics()` to the database. Default 5 s. */
  metrics?: Duration
  /** How often to check for claims on rows that no worker holds any more. Default 30 s. */
  repair?: Duration
  /** PostgreSQL: how long until a dead connection is detected and replaced. Default 20 s. */
  query?: Duration
  /** How often to remove finished tasks that are past the retention. Default 1 min. */
  prune?: Duration
}

/** What a worker in this process serves. */
export interface WorkOptions {
  /** The queues to serve. Default: the queues of the tasks passed to openGleaner; none if you pass `discoveries` here. */
  queues?: readonly string[]
  /** The discoveries to serve. Default: all that were passed to openGleaner; none if you pass `queues` here. */
  discoveries?: readonly string[]
  /** How many items run at the same time. Default 10. */
  concurrency?: number
  /** What this worker offers to tasks with `requires`. */
  capabilities?: Capabilities
  /** Another order for queues that this worker serves, e.g. `{ media: 'lifo' }`. Other workers of the queue keep the stored order. Default: as the queues are stored. */
  strategies?: Record<string, Strategy>
  /** The worker stops after this many resource errors in a row. Default 10. */
  resourceErrorLimit?: number
}

/** A worker in this process. */
export interface RunningWorker {
  /** Identifies the worker in records, in logs and in the dashboard. */
  readonly id: string
  /** Resolves when the worker has no item in flight and found no due item that it may run. */
  drained(options?: { includeDelayed?: boolean }): Promise<void>
  /** Stops the worker. Running items get the time `drain` (10 s) to finish. Unfinished items go back and lose no attempt. */
  stop(options?: { drain?: Duration }): Promise<void>
  /** The phase, items in flight, counters and resources of the worker, as of now. */
  snapshot(): WorkerSnapshot
  /** Calls the listener when the phase changes. Returns a function that unsubscribes. */
  onPhase(listener: OnPhase): () => void
  /** Why the worker gave up after too many resource errors in a row, and stops by itself. Null while it has not given up. */
  readonly failed: GleanerError | null
}

/** An open database, with everything that you can do with it. */
export interface Gleaner {
  /** Enqueues one task. When the promise resolves, the task is stored. */
  enqueue: Enqueue
  /** Enqueues many tasks at once, which is much faster than one by one. */
  enqueueMany<I, R>(
    task: Task<I, R>,
    inputs: readonly NoInfer<I>[],
    options?: EnqueueManyOptions<NoInfer<I>>,
  ): Promise<Handle<R>[]>
  /** Sends a signal to a task or a row that waits for it with `ctx.waitFor`, or will. When the promise resolves, the signal is stored. */
  signal: SendSignal
  /** Enqueues, or sends signals, inside your own transaction. What you enqueued and sent exists when the transaction commits. */
  within(db: NodeSqliteTx | SqliteTx): { enqueue: EnqueueNow; signal: SendSignalNow }
  /** The same, with a client of `pg` that has a transaction open. */
  within(client: PostgresTx): { enqueue: Enqueue; signal: SendSignal }
  /** The handle of a task that this or another process enqueued earlier. */
  handle<I, R>(task: Task<I, R>, id: string): Handle<R>
  /** Enqueues tasks that belong together, and a task that follows when all of them are completed. */
  batch<R = BatchProgress>(
    name: string,
    tasks: readonly BatchEntry[],
    options?: StartBatchOptions<R>,
  ): Promise<BatchHandle<Stored<R>>>
  /** See and cancel batches that this or another process started. */
  readonly batches: BatchManagement
  /** Starts a worker in this process. */
  work(options?: WorkOptions): RunningWorker
  /**
   * Claims items by hand, without a worker: tasks, or rows. Renewed until they are settled, disposed of, or until Gleaner closes.
   * Empty if nothing came within `wait`.
   */
  claim<I = any, R = any>(options?: ClaimOptions): Promise<PulledClaims<I, R>>
  /** List, explain, retry, cancel and remove tasks. */
  readonly tasks: TaskManagement
  /** List, limit, pause and resume queues. */
  readonly queues: QueueManagement
  /** Rows of your own tables that need work. */
  readonly discoveries: DiscoveryManagement
  /** See and command the workers of all processes. */
  readonly workers: WorkerManagement
  /** The health of your own components, and the history of all health. */
  readonly health: HealthManagement
  /** Schedules: tasks with `every`. */
  readonly schedules: ScheduleManagement
  /** Depth, rates, errors and durations: in total, per queue and per task. */
  metrics(options?: MetricsOptions): Promise<Metrics>
  /** Backup, check, optimize and prune. */
  readonly maintenance: MaintenanceManagement
  /** Pauses everything: no process claims any item. Running items continue. Resolves when no further item can start. */
  pause(): Promise<void>
  /** Ends the pause of everything. */
  resume(): Promise<void>
  /** Listens to an event. Returns a function that unsubscribes. */
  on<E extends keyof Events>(event: E, listener: (event: Events[E]) => void): () => void
  /** Stops the workers of this process, then closes the database. */
  close(): Promise<void>
}

/** What `gleaner.claim` takes. */
export interface ClaimOptions {
  /** The queues to claim from. Default: the queues of the tasks passed to openGleaner; none if you pass `discoveries` here. */
  queues?: readonly string[]
  /** The names of the tasks to claim. Default: all tasks passed to openGleaner, also those without `run`. */
  names?: readonly string[]
  /** The discoveries whose rows to claim. Default: all that were passed to openGleaner; none if you pass `queues` here. */
  discoveries?: readonly string[]
  /** What this caller offers to tasks with `requires`. */
  capabilities?: Capabilities
  /** The largest number of items. Default 1. */
  limit?: number
  /** How long to wait for the first item. Default 0: only what is due now. */
  wait?: Duration
  /** The name of the caller in records, in logs and in the dashboard. Default `worker:pid<pid>:claims`. */
  worker?: string
  /** The claims go back if the process does not renew them for this long: from `timings.lease`, which is the default, to 10 min. */
  lease?: Duration
}
