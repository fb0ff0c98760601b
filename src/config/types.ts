import type { Duration } from '../duration.ts'
import type { GleanerOptions } from '../engine/gleaner.ts'
import type { Role } from '../model/action.ts'
import type { AlertLimits } from '../model/alerts.ts'
import type { Capabilities } from '../model/capabilities.ts'
import type { Strategy } from '../model/queue.ts'
import type { AccessToken } from './tokens.ts'

/** What `gleaner.config.ts` exports: the options of `openGleaner`, and those of `gleaner start`. */
export interface ConfigOptions extends GleanerOptions {
  /** Worker processes, by the name of their pool. Default: no workers. */
  pools?: Record<string, PoolOptions>
  /** The HTTP API and the dashboard. `false` switches them off. */
  server?: ServerOptions | false
  /** How worker processes are watched and restarted. */
  supervisor?: SupervisorOptions
  /** When to show an alert. */
  alerts?: AlertOptions
}

/** A set of identical worker processes: `worker:<pool>:0`, `worker:<pool>:1`, … */
export interface PoolOptions {
  /** How many processes run. Default 1. */
  processes?: number
  /** How many items each process runs at the same time. Default 10, or 1 with a `command`. */
  concurrency?: number
  /** The queues that the processes serve. A pool with a `command` must name them. Default: the queues of all tasks of the config; none if the pool names `discoveries`. */
  queues?: readonly string[]
  /** The discoveries that the processes serve, by name. Default: all of the config; none if the pool names `queues`. */
  discoveries?: readonly string[]
  /** What the processes offer to tasks with `requires`. Default: nothing. */
  capabilities?: Capabilities
  /** Another order for queues that the processes serve, e.g. `{ media: 'lifo' }`. Default: as the queues are stored. */
  strategies?: Record<string, Strategy>
  /** A process exits with 13 (or 12, if a resource does not load) after this many resource errors in a row, and is restarted. Default 10. */
  resourceErrorLimit?: number
  /** A program in any language that runs the work, and its arguments. */
  command?: readonly string[]
  /**
   * With `command`: variables of the environment for the program. Names pass a variable on, an object sets values. Default: only PATH, HOME,
   * LANG, LC_*, TZ, TMPDIR and GLEANER_COMPONENT_ID.
   */
  env?: readonly string[] | Readonly<Record<string, string>>
  /** With `command`: the user that the program runs as, by number. Only root can choose one. Default: the user of the supervisor. */
  uid?: number
  /** With `command`: the group that the program runs as, by number. Default: the group of the supervisor. */
  gid?: number
  /** With `command`: the program takes the items of a batch in one message. Otherwise it gets one after the other. Default false. */
  batches?: boolean
  /** The supervisor replaces a process with a larger resident set than this many bytes, between two items. Default: no limit. */
  maxRss?: number
  /** The supervisor replaces a process that has run this many items. Default: no limit. */
  maxItems?: number
}

/** The HTTP server of `gleaner start`: its address, and the callers that it accepts. */
export interface ServerOptions {
  /** The address to listen on. Default `'127.0.0.1'`. */
  host?: string
  /** The port to listen on. 0 takes any free port. Default 8356. */
  port?: number
  /** The callers that the server accepts. Default: one random token, kept in `<database>.token`. */
  tokens?: readonly AccessToken[]
  /** A function that decides for each request, e.g. by a header that a proxy sets after it authenticated the user. */
  authorize?: Authorize
  /** True: requests from this machine need no token. All users of the machine can send such requests. Default false. */
  local?: boolean
  /** Older form of `tokens`: the token of an operator. */
  token?: string
  /** Older form of `tokens`: the token of a viewer. */
  viewerToken?: string
  /** Names under which clients reach the server. Default: only `localhost` and addresses. */
  hosts?: readonly string[]
  /** Fields of inputs, results and logs to hide: `['*.password']`. Default: none. */
  redact?: readonly string[]
}

/** Decides what a request may do, e.g. by a header that a proxy sets after it authenticated the user. */
export type Authorize = (request: Request) => Authorized | Promise<Authorized>

/** What a request may do. `queues` and `actions` limit what an operator may change, `queues` and `discoveries` what a worker may pull. Null: the caller is unknown. */
export type Authorized =
  | Role
  | {
      role: Role
      user: string
      queues?: readonly string[]
      discoveries?: readonly string[]
      actions?: readonly string[]
    }
  | null

/** How the supervisor watches and restarts worker processes. */
export interface SupervisorOptions {
  /** The name of the supervisor. A database has one running supervisor of each name. Default: the name of the host, with a number if another machine uses it. */
  name?: string
  /** The intervals of supervision. */
  timings?: SupervisionTimings
  /** After how many crashes the supervisor gives a worker up. */
  limits?: SupervisionLimits
}

/** After how many crashes the supervisor gives a worker up. Crashes that an item explains do not count. */
export interface SupervisionLimits {
  /** Crashes within `timings.window`. Default 5. */
  inWindow?: number
  /** Crashes in total, until an operator resumes the worker. Default 20. */
  total?: number
}

/** The intervals of supervision. The defaults fit almost every app. Tests shorten them. */
export interface SupervisionTimings {
  /** How often a worker writes a health frame, shorter than `stale`. Default 5 s. */
  frame?: Duration
  /** A worker without a frame for this long is unhealthy. Default 10 s. */
  stale?: Duration
  /** The supervisor kills and replaces a worker without a frame for this long, at least `stale`. Default 30 s. */
  hung?: Duration
  /** How long a process may take from its start until it is ready. Default 5 min. */
  startup?: Duration
  /** How long a stopping worker gets to finish its items. Default 10 s. */
  drain?: Duration
  /** The time between SIGTERM and SIGKILL. Default 5 s. */
  term?: Duration
  /** How long a handler may block the event loop after its time-out. Default 5 s. */
  grace?: Duration
  /** The delay of the first restart. It doubles with each further one. Default 1 s. */
  backoff?: Duration
  /** The longest delay of a restart. Default 1 min. */
  backoffMax?: Duration
  /** Crashes within this time count together. Default 5 min. */
  window?: Duration
  /** How often the supervisor writes its state to the database. Default 5 s. */
  registry?: Duration
  /** How often the supervisor reads commands such as a pause. Default 1 s. */
  commands?: Duration
}

/** The limits at which `gleaner status`, the dashboard and the API show an alert. */
export interface AlertOptions {
  /** How often `gleaner start` checks. Default 15 s. */
  every?: Duration
  /** Alerts when one queue or discovery has more waiting items than this. `false`: never. Default 10 000. */
  backlog?: number | false
  /** Alerts when a larger share of attempts fails than this. `false`: never. Default 0.1. */
  errorRate?: number | false
  /** Alerts when nothing completed for this long while work waits. `false`: never. Default 1 min. */
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
  strategies: Readonly<Record<string, Strategy>>
  resourceErrorLimit: number | undefined
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
  batches?: boolean
}

export interface SupervisorSettings {
  name: string | undefined
  /** In milliseconds; what was not said is left out. */
  timings: { readonly [T in keyof SupervisionTimings]: number }
  limits: { readonly inWindow?: number; readonly total?: number }
}
