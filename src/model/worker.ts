/** The phase of a worker process, from its frames. */
export const PHASES = [
  'initializing',
  'loading_models',
  'idle',
  'processing',
  'backing_off',
  'paused',
  'stopping',
] as const
/** What a worker reports that it does. */
export type Phase = (typeof PHASES)[number]

/** The health of a worker, as its owner reports it to the health monitor. */
export const HEALTHS = ['pending', 'healthy', 'unhealthy', 'failed'] as const
/** What a health monitor needs to know of a worker. */
export type Health = (typeof HEALTHS)[number]

/** What a worker process does. */
export type WorkerStatus =
  | 'starting'
  | 'running'
  | 'paused'
  | 'stopping'
  | 'stopped'
  | 'crashed'
  | 'backing-off'
  | 'failed'

/** An item that a worker runs. */
export interface CurrentItem {
  /** `<task or discovery>/<id or key>`. */
  item: string
  /** When the run began, in milliseconds since 1970. */
  since: number
  /** When its time-out passes. Null: unknown. */
  deadline: number | null
}

/** How the last process of a worker ended. */
export interface LastExit {
  /** Milliseconds since 1970. */
  at: number
  /** The exit code. Null if a signal ended it. */
  code: number | null
  /** The signal that ended it. */
  signal: string | null
  /** The cause of the exit and what followed, as a sentence. */
  reason: string
  /** The phase in the last frame before the exit. */
  phase: Phase | null
  /** The memory of the process, in bytes, as last reported. */
  rss: number | null
}

/** Counters since the worker began. They have the names that they have in health frames. */
export interface WorkerCounters {
  /** How often the worker asked for items. */
  discovery_attempts: number
  /** Items that another worker claimed first. */
  claim_conflicts: number
  /** Runs that this worker ended and settled, both successes and failures. */
  processed: number
  /** Rows of discoveries, out of `processed`. */
  files_processed: number
  /** Runs that failed, out of `processed`. */
  errors: number
  /** Resource errors in a row. A success resets it to 0. */
  consecutive_errors: number
  /** Writes that the database refused because the worker had lost the claim. */
  fenced_writes: number
  /** Steps that an earlier attempt kept and a later version of the code did not come to. */
  unvisited_steps: number
}

export const COUNTERS = [
  'discovery_attempts',
  'claim_conflicts',
  'processed',
  'files_processed',
  'errors',
  'consecutive_errors',
  'fenced_writes',
  'unvisited_steps',
] as const satisfies readonly (keyof WorkerCounters)[]

/** What the program of a `command` pool reports about itself in its own health frames. */
export interface ProgramHealth {
  /** Its health. */
  status: Health
  /** What it says that it does. */
  phase: Phase | null
  /** What it works on, in its own words. */
  currentJob: string | null
  /** Numbers of its own. */
  metrics: Record<string, number>
}

/** A worker, as the library, the CLI and the HTTP API show it. */
export interface WorkerRecord {
  /** `worker:<pool>:<n>` of a supervised worker. */
  id: string
  /** Its pool. Empty for a worker inside your own program. */
  pool: string
  /** What its process does. */
  status: WorkerStatus
  /** The same for a health monitor. */
  health: Health
  /** What the worker reported last. */
  phase: Phase | null
  /** Why the worker backs off. Null: it does not back off, or it reports no reason. */
  reason: string | null
  /** The process, while there is one. */
  pid: number | null
  /** The machine that it runs on. */
  host: string
  /** The number of this process of the worker. It grows with each restart. */
  incarnation: number | null
  /** The items that it runs. */
  current: CurrentItem[]
  /** What it did since it started. Null: it has not reported yet. */
  counters: WorkerCounters | null
  /** What the program of a `command` pool reports about itself. Null: the pool has none, or it writes no frames. */
  program: ProgramHealth | null
  /** Crashes that count towards giving up: within the window, and in total. */
  restarts: { recent: number; total: number }
  /** How its last process ended. */
  lastExit: LastExit | null
  /** Its memory in bytes. */
  rss: number | null
  /** For how long its event loop has been blocked. */
  loopLagMs: number | null
  /** When it wrote its last health frame. */
  lastFrameAt: number | null
}

const HEALTH_OF_PHASE: Record<Phase, Health> = {
  initializing: 'pending',
  loading_models: 'pending',
  idle: 'healthy',
  processing: 'healthy',
  paused: 'healthy',
  stopping: 'healthy',
  backing_off: 'unhealthy',
}

export function healthOfPhase(phase: Phase): Health {
  return HEALTH_OF_PHASE[phase]
}
