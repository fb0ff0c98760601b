import type { Duration } from '../duration.ts'
import type { Capabilities } from '../model/capabilities.ts'
import type { Health, WorkerRecord } from '../model/worker.ts'
import type { Store } from '../store/contract.ts'
import type { Logger } from './logger.ts'

/** A set of identical workers. */
export interface PoolOptions {
  /** Default 1. */
  processes?: number
  /** Items at the same time in each process; default 10. */
  concurrency?: number
  /** Default: the queues of the config's tasks. */
  queues?: readonly string[]
  discoveries?: readonly string[]
  capabilities?: Capabilities
  /** A program in another language that does the work. */
  command?: readonly string[]
  /** A worker larger than that is replaced between two items. Bytes of its resident set. */
  maxRss?: number
  /** A worker that has run so many items is replaced. */
  maxItems?: number
}

export interface SupervisorOptions {
  /** Opened by the caller, who closes it after `stop`. */
  store: Store
  /** The config file that every worker process loads. */
  config: string
  pools: Readonly<Record<string, PoolOptions>>
  /** One supervisor per database and name. Default: the name of this host. */
  name?: string
  logger?: Logger
  timings?: SupervisionTimings
  /** For how long a task that was killed at its time-out backs off. Default: the default retry policy. */
  retryAfterMs?: (name: string, attempt: number) => number
  /** Added to what the workers inherit. */
  env?: NodeJS.ProcessEnv
  /** Called on each change of a worker's record. */
  onChange?: (worker: WorkerRecord) => void
}

/** Every interval of supervision; tests shorten them. */
export interface SupervisionTimings {
  /** How often a worker writes a frame. Default 5 s. */
  frame?: Duration
  /** Without a frame for that long a worker is unhealthy. Default 10 s. */
  stale?: Duration
  /** And then it is killed and replaced. Default 30 s. */
  hung?: Duration
  /** From the start of a process to its first sign of readiness. Default 5 min. */
  startup?: Duration
  /** What a worker gets to finish its items when it is stopped. Default 10 s. */
  drain?: Duration
  /** Between SIGTERM and SIGKILL. Default 5 s. */
  term?: Duration
  /** How long past its time-out a handler may block the event loop. Default 5 s. */
  grace?: Duration
  /** The first delay of a restart: 1 s, doubled up to 60 s. */
  backoff?: Duration
  backoffMax?: Duration
  /** Crashes within this time count together. Default 5 min. */
  window?: Duration
  /** How often the registry for others is written. Default 5 s. */
  registry?: Duration
  /** How often to look for commands. Default 1 s. */
  commands?: Duration
}

/** What the health monitor asks of whoever owns a component. */
export interface HealthOwner {
  status(id: string): Health
}

export interface Supervisor extends HealthOwner {
  readonly name: string
  /** Everything it owns, as it is now. */
  workers(): WorkerRecord[]
  /** Null: all of them. The current item is finished, nothing is claimed, processes stay. Lasts beyond a restart. */
  pause(worker?: string): void
  /** Also gives those another chance that were given up. */
  resume(worker?: string): void
  /** Replaces them one by one: the new process is ready before the old one leaves. */
  restart(worker?: string): Promise<void>
  /** Drain → SIGTERM and SIGCONT → SIGKILL the group → exit → items go back. A second call with a shorter drain hurries. */
  stop(options?: { drain?: Duration }): Promise<void>
}

/** `openSupervisor` in `supervisor.ts`: rejects with SUPERVISOR_RUNS when another one of this name runs. */
export type OpenSupervisor = (options: SupervisorOptions) => Promise<Supervisor>
