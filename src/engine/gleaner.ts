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
  SqliteTx,
  Task,
} from '../define/types.ts'
import type { DiscoveryManagement } from '../discovery/manage.ts'
import type { Duration } from '../duration.ts'
import type { GleanerError } from '../errors.ts'
import type { MaintenanceManagement } from '../maintenance/manage.ts'
import type { RetentionOptions } from '../maintenance/retention.ts'
import type { Capabilities } from '../model/capabilities.ts'
import type { Metrics } from '../model/metrics.ts'
import type { QueueManagement, TaskManagement } from '../queue/manage.ts'
import type { MetricsOptions } from '../queue/metrics.ts'
import type { ScheduleManagement } from '../queue/schedules.ts'
import type { SqliteSettings } from '../store/sqlite/drivers/driver.ts'
import type { Events } from '../worker/events.ts'
import type { Hooks } from '../worker/hooks.ts'
import type { WorkerManagement } from '../worker/manage.ts'
import type { OnPhase } from '../worker/phases.ts'
import type { WorkerSnapshot } from '../worker/snapshot.ts'

export interface GleanerOptions {
  /** `'sqlite:./app.db'`: a file of its own, or the app's. `'postgres://…'` when one machine is not enough. */
  database: string
  /** How to reach PostgreSQL; the URL says the rest. */
  postgres?: PostgresSettings
  /** How to open a SQLite file. */
  sqlite?: SqliteSettings
  /** All tasks this process enqueues or runs. */
  tasks?: readonly Task[]
  /** Where else there is work: rows of your own tables. Checked against the database when it is opened. */
  discoveries?: readonly Discovery[]
  /** How queues are worked off. Stored with them: a queue that is not named stays as it is. */
  queues?: Record<string, QueueOptions>
  /** `'full'` (default): what `enqueue` answers survives a power cut. `'normal'`: a crash of the process. */
  durability?: 'full' | 'normal'
  /** Bytes of JSON of an input or a result; default 1 MiB. */
  payloadLimit?: number
  /**
   * How long finished tasks are kept, by whichever process works; default completed 7 d, failed 30 d, cancelled 7 d.
   * `false`: for ever.
   */
  retention?: RetentionOptions | false
  hooks?: Hooks
  /** Follows work from whoever enqueues it to whoever runs it: `openTelemetry()` of `gleaner/telemetry`. */
  telemetry?: Telemetry
  timings?: TimingOptions
}

/** The same on a connection of the app's own to its file. */
export interface ConnectedOptions extends Omit<GleanerOptions, 'database' | 'postgres' | 'sqlite'> {
  /**
   * An open connection of better-sqlite3 or `node:sqlite`. Gleaner opens the same file with the same library, on connections of its own:
   * two libraries on one file in one process lose their locks.
   */
  database: NodeSqliteTx | SqliteTx
}

export interface PostgresSettings {
  /** Default 'gleaner'; also `?schema=` in the URL. */
  schema?: string
  /** Connections at most; default 10. */
  poolSize?: number
  /** Default 30 s. */
  statementTimeout?: Duration
  /** Default 10 s. */
  lockTimeout?: Duration
  /** Default 10 s. */
  connectTimeout?: Duration
  /** False behind PgBouncer in transaction mode: no notifications, which costs latency only, and no prepared statements. */
  notify?: boolean
  /**
   * Put a trigger on the tables of discoveries, so that a row that the app itself writes is picked up at once. Default false:
   * such rows are found within half a second.
   */
  wakeTriggers?: boolean
  /** As `pg` takes it: true, or { ca, cert, key, rejectUnauthorized, … }. */
  ssl?: boolean | object
}

/** Every interval of the engine. The defaults are right for almost everybody; tests shorten them. */
export interface TimingOptions {
  /** A worker that does not renew its session for that long has lost what it held. Default 30 s. */
  lease?: Duration
  /** How often to look for workers that are gone. Default 2 s. */
  sweep?: Duration
  /** Between the abort of a handler and giving up on it. Default 5 s. */
  grace?: Duration
  /** Rest of an idle worker should no wake-up reach it, from and to. Default 1 s, growing to 30 s. */
  idleMin?: Duration
  idleMax?: Duration
  /** How soon a result or a cancel is noticed should no wake-up tell of it. Default 1 s. */
  poll?: Duration
  /** How often this process writes down what it has counted for `metrics()`. Default 5 s. */
  metrics?: Duration
  /** How often to look for claims on rows that nobody holds any more. Default 30 s. */
  repair?: Duration
  /** PostgreSQL: a connection that is dead is noticed within that time, and replaced. Default 20 s. */
  query?: Duration
  /** How often to look for finished tasks that need not be kept any more. Default 1 min. */
  prune?: Duration
}

export interface WorkOptions {
  /** Default: the queues of the tasks given to openGleaner; none if `discoveries` are named. */
  queues?: readonly string[]
  /** Default: all that were given to openGleaner; none if `queues` are named. */
  discoveries?: readonly string[]
  /** Items at the same time; default 10. */
  concurrency?: number
  capabilities?: Capabilities
  /** Resource errors in a row after which the worker gives up; default 10. */
  resourceErrorLimit?: number
}

export interface RunningWorker {
  readonly id: string
  /** Nothing of its own in flight, and a claim found nothing due that it may run. */
  drained(options?: { includeDelayed?: boolean }): Promise<void>
  /** Finishes what runs, within `drain` (10 s); what is unfinished then goes back and costs no attempt. */
  stop(options?: { drain?: Duration }): Promise<void>
  /** Its phase, what it runs, what it has counted, what it lacks: as it is now. */
  snapshot(): WorkerSnapshot
  /** Told when its phase changes; the answer unsubscribes. */
  onPhase(listener: OnPhase): () => void
  /** Why it gave up, after too many resource errors in a row; null while it has not. Then it has stopped, or is about to. */
  readonly failed: GleanerError | null
}

export interface Gleaner {
  enqueue: Enqueue
  enqueueMany<I, R>(
    task: Task<I, R>,
    inputs: readonly NoInfer<I>[],
    options?: EnqueueManyOptions<NoInfer<I>>,
  ): Promise<Handle<R>[]>
  /** Inside a transaction of your own: the task exists when it commits. */
  within(db: NodeSqliteTx | SqliteTx): { enqueue: EnqueueNow }
  within(client: PostgresTx): { enqueue: Enqueue }
  /** The handle of a task that was enqueued earlier, here or elsewhere. */
  handle<I, R>(task: Task<I, R>, id: string): Handle<R>
  work(options?: WorkOptions): RunningWorker
  readonly tasks: TaskManagement
  readonly queues: QueueManagement
  /** Rows of your own tables that need work. */
  readonly discoveries: DiscoveryManagement
  readonly workers: WorkerManagement
  /** What recurs. */
  readonly schedules: ScheduleManagement
  /** Depth, rates, errors and durations: over all, per queue and per task. */
  metrics(options?: MetricsOptions): Promise<Metrics>
  readonly maintenance: MaintenanceManagement
  /** Nothing is claimed any more, from any queue, by any process. What runs goes on. Answered when nothing more starts. */
  pause(): Promise<void>
  resume(): Promise<void>
  /** The answer unsubscribes. */
  on<E extends keyof Events>(event: E, listener: (event: Events[E]) => void): () => void
  /** Stops the workers of this process, then closes the database. */
  close(): Promise<void>
}
