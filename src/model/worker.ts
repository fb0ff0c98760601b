/** What a worker process does just now, as it says itself in its frames. */
export const PHASES = [
  'initializing',
  'loading_models',
  'idle',
  'processing',
  'backing_off',
  'paused',
  'stopping',
] as const
export type Phase = (typeof PHASES)[number]

/** What the owner of a worker says of it: all that the health monitor knows. */
export const HEALTHS = ['pending', 'healthy', 'unhealthy', 'failed'] as const
export type Health = (typeof HEALTHS)[number]

export type WorkerStatus =
  | 'starting'
  | 'running'
  | 'paused'
  | 'stopping'
  | 'stopped'
  | 'crashed'
  | 'backing-off'
  | 'failed'

export interface CurrentItem {
  /** `<task or discovery>/<id or key>`. */
  item: string
  since: number
  /** When its time-out is over; null: nobody said. */
  deadline: number | null
}

export interface LastExit {
  at: number
  code: number | null
  signal: string | null
  /** Why, and what followed from it, for people. */
  reason: string
  /** What it was at when it was last heard. */
  phase: Phase | null
  rss: number | null
}

/** A worker, as the library, the CLI and the HTTP API show it. */
export interface WorkerRecord {
  id: string
  pool: string
  status: WorkerStatus
  health: Health
  phase: Phase | null
  /** Why it backs off: what it waits for; null: it does not, or it does not say. */
  reason: string | null
  pid: number | null
  host: string
  /** Which life of it this is: a later one has a larger number. */
  incarnation: number | null
  current: CurrentItem[]
  restarts: { recent: number; total: number }
  lastExit: LastExit | null
  rss: number | null
  loopLagMs: number | null
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
