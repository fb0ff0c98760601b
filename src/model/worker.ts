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
export type Phase = (typeof PHASES)[number]

/** The health of a worker, as its owner reports it to the health monitor. */
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
  /** When its time-out passes. Null: unknown. */
  deadline: number | null
}

export interface LastExit {
  at: number
  code: number | null
  signal: string | null
  /** The cause of the exit and what followed, as a sentence. */
  reason: string
  /** The phase in the last frame before the exit. */
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
  /** Why the worker backs off. Null: it does not back off, or it reports no reason. */
  reason: string | null
  pid: number | null
  host: string
  /** The number of this process of the worker. It grows with each restart. */
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
