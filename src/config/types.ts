import type { Duration } from '../duration.ts'
import type { GleanerOptions } from '../engine/gleaner.ts'
import type { Role } from '../model/action.ts'
import type { AlertLimits } from '../model/alerts.ts'
import type { Capabilities } from '../model/capabilities.ts'
import type { AccessToken } from './tokens.ts'

/** What `gleaner.config.ts` says: the engine's own options, and what the program adds to them. */
export interface ConfigOptions extends GleanerOptions {
  /** Worker processes, by the name of their pool. */
  pools?: Record<string, PoolOptions>
  /** Of the HTTP API; `false`: none. */
  server?: ServerOptions | false
  /** The name, the intervals and the limits of the supervisor. */
  supervisor?: SupervisorOptions
  /** When to show an alert. */
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
  /** What its workers offer to tasks with `requires`. Default none. */
  capabilities?: Capabilities
  /** A program in any language, and its arguments; see docs/guide/foreign-workers.md. */
  command?: readonly string[]
  /**
   * What the `command` gets of the environment, beside PATH, HOME, LANG, LC_*, TZ, TMPDIR and GLEANER_COMPONENT_ID: names, whose values
   * are passed on, or names with values of their own.
   */
  env?: readonly string[] | Readonly<Record<string, string>>
  /** The user that the `command` runs as, by number. Only root can choose one. */
  uid?: number
  /** The group that the `command` runs as, by number. */
  gid?: number
  /** A process larger than that is replaced between two items. Bytes of its resident set. */
  maxRss?: number
  /** A process that has run so many items is replaced. */
  maxItems?: number
}

/** The HTTP server of `gleaner start`: its address, and the callers that it accepts. */
export interface ServerOptions {
  /** Default '127.0.0.1'. */
  host?: string
  /** Default 8356; 0 is any free one. */
  port?: number
  /** Callers that the API lets in: `[{ name: 'ci', role: 'operator', token: process.env.CI_TOKEN }]`. Without any, `gleaner start` makes a random one. */
  tokens?: readonly AccessToken[]
  /** Decides for each request, e.g. by a header that a proxy sets after it authenticated the user. */
  authorize?: Authorize
  /** True: requests from this machine need no token. All users of the machine can send such requests. */
  local?: boolean
  /** Older form: the token of an operator. */
  token?: string
  /** Older form: the token of a viewer. */
  viewerToken?: string
  /** Names under which the server is reached, beside `localhost` and any address. */
  hosts?: readonly string[]
  /** Fields that never leave the server: `['*.password']`. */
  redact?: readonly string[]
}

/** Decides what a request may do, e.g. by a header that a proxy sets after it authenticated the user. */
export type Authorize = (request: Request) => Authorized | Promise<Authorized>

/** Null: unknown. `queues` and `actions` limit what an operator may change; see docs/guide/security.md. */
export type Authorized =
  | Role
  | { role: Role; user: string; queues?: readonly string[]; actions?: readonly string[] }
  | null

/** How the supervisor watches and restarts worker processes. */
export interface SupervisorOptions {
  /** There is one of each name per database; default: the name of this host, numbered if a supervisor on another machine has it. */
  name?: string
  /** The intervals of supervision. */
  timings?: SupervisionTimings
  /** How many crashes are too many: within the window (5), and in all (20). */
  limits?: { inWindow?: number; total?: number }
}

/** Every interval of supervision. The defaults are right for almost everybody; tests shorten them. */
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
  /** The first delay of a restart, doubled with each. Default 1 s. */
  backoff?: Duration
  /** The longest. Default 1 min. */
  backoffMax?: Duration
  /** Crashes within this time count together. Default 5 min. */
  window?: Duration
  /** How often what the supervisor knows is written down for others. Default 5 s. */
  registry?: Duration
  /** How often it looks for commands such as a pause. Default 1 s. */
  commands?: Duration
}

/** The limits at which `gleaner status`, the dashboard and the API show an alert. */
export interface AlertOptions {
  /** How often `gleaner start` looks for them. Default 15 s. */
  every?: Duration
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
  /** Null: none. */
  server: ServerSettings | null
  supervisor: SupervisorSettings
  alerts: AlertLimits & { everyMs: number }
}

export interface ServerSettings {
  host: string
  port: number
  tokens: readonly AccessToken[]
  authorize: Authorize | undefined
  local: boolean
  hosts: readonly string[]
  redact: readonly string[]
}

export interface Pool {
  name: string
  processes: number
  concurrency: number
  /** Undefined: those of the config's tasks. */
  queues: readonly string[] | undefined
  discoveries: readonly string[]
  capabilities: Capabilities
  program: PoolProgram | undefined
  maxRss: number | undefined
  maxItems: number | undefined
}

/** A program in any language that does the work of a pool. */
export interface PoolProgram {
  command: readonly [string, ...string[]]
  env: readonly string[] | Readonly<Record<string, string>>
  uid: number | undefined
  gid: number | undefined
}

export interface SupervisorSettings {
  name: string | undefined
  /** In milliseconds; what was not said is left out. */
  timings: { readonly [T in keyof SupervisionTimings]: number }
  limits: { readonly inWindow?: number; readonly total?: number }
}
