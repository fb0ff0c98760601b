import type { Duration } from '../duration.ts'
import type { GleanerOptions } from '../engine/gleaner.ts'
import type { Capabilities } from '../model/capabilities.ts'

/** What `gleaner.config.ts` says: the engine's own options, and what the program adds to them. */
export interface ConfigOptions extends GleanerOptions {
  /** Worker processes, by the name of their pool. */
  pools?: Record<string, PoolOptions>
  server?: ServerOptions
  supervisor?: SupervisorOptions
  alerts?: AlertOptions
}

/** A set of identical worker processes. */
export interface PoolOptions {
  /** Default 1. */
  processes?: number
  /** Items at the same time in each process; default 10, or 1 with a `command`. */
  concurrency?: number
  /** Default: the queues of the config's tasks. A `command` must name its own. */
  queues?: readonly string[]
  /** Names of discoveries; default none. */
  discoveries?: readonly string[]
  capabilities?: Capabilities
  /** A program in any language, and its arguments; see docs/guide/foreign-workers.md. */
  command?: readonly string[]
  /** Added to the environment of its processes. */
  env?: Record<string, string>
  /** A process that is over it is replaced when its current items are done. */
  recycle?: RecycleOptions
}

export interface RecycleOptions {
  /** Megabytes of memory. */
  rssMb?: number
  /** Items worked on. */
  items?: number
}

export interface ServerOptions {
  /** Default '127.0.0.1'. */
  host?: string
  /** Default 8356; 0 is any free one. */
  port?: number
  /** Whoever talks to the server must know it. */
  token?: string
}

/** Every interval and limit of the supervisor. The defaults are right for almost everybody; tests shorten them. */
export interface SupervisorOptions {
  /** There is one of each name per database; default 'main'. */
  name?: string
  /** How often a worker writes a frame. Default 5 s. */
  frameEvery?: Duration
  /** Without a frame for that long it is unhealthy. Default 10 s. */
  staleAfter?: Duration
  /** Without a frame for that long it is hung: killed and restarted. Default 30 s. */
  hungAfter?: Duration
  /** A worker that is not ready by then is killed. Default 5 min: models take their time. */
  startWithin?: Duration
  /** When stopping: how long current items may take. Default 10 s. */
  drain?: Duration
  /** Between SIGTERM and SIGKILL. Default 5 s. */
  killAfter?: Duration
  /** How often it writes down what it knows, for others to read. Default 5 s. */
  registryEvery?: Duration
  /** How often it looks for commands such as a pause. Default 1 s. */
  commandsEvery?: Duration
  restart?: RestartOptions
}

export interface RestartOptions {
  /** The first delay, doubled with each restart in the window. Default 1 s. */
  base?: Duration
  /** The longest delay. Default 1 min. */
  max?: Duration
  /** Default 5 min. */
  window?: Duration
  /** So many within the window, and it is given up. Default 5. */
  inWindow?: number
  /** So many in all, and it is given up. Default 20. */
  total?: number
}

export interface AlertOptions {
  /** More waiting items than that in a queue are an alert. Default 10 000; false: never. */
  backlog?: number | false
  /** A larger share of failed attempts is an alert. Default 0.1; false: never. */
  errorRate?: number | false
  /** Nothing completed for that long while work waits is an alert. Default 1 min; false: never. */
  stalledAfter?: Duration | false
}

/** A config that was checked: nothing is missing, units are in the names. */
export interface Config {
  /** The file it was read from. */
  path: string
  /** What `openGleaner` takes; the database is the one that the environment names, if it names one. */
  engine: GleanerOptions
  pools: readonly Pool[]
  server: { host: string; port: number; token: string | null }
  supervisor: SupervisorSettings
  alerts: AlertSettings
}

export interface Pool {
  name: string
  processes: number
  concurrency: number
  /** Undefined: those of the config's tasks. */
  queues: readonly string[] | undefined
  discoveries: readonly string[]
  capabilities: Capabilities
  command: readonly [string, ...string[]] | null
  env: Readonly<Record<string, string>>
  recycle: { rssMb: number | null; items: number | null }
}

export interface SupervisorSettings {
  name: string
  frameEveryMs: number
  staleAfterMs: number
  hungAfterMs: number
  startWithinMs: number
  drainMs: number
  killAfterMs: number
  registryEveryMs: number
  commandsEveryMs: number
  restart: { baseMs: number; maxMs: number; windowMs: number; inWindow: number; total: number }
}

export interface AlertSettings {
  backlog: number | null
  errorRate: number | null
  stalledAfterMs: number | null
}
