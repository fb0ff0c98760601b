import { hostname } from 'node:os'
import { NO_RESTARTS, type RestartState } from '../model/restart.ts'
import {
  COUNTERS,
  type Health,
  type WorkerCounters,
  type WorkerRecord,
  type WorkerStatus,
} from '../model/worker.ts'
import type { Assignment } from '../process/assignment.ts'
import type { Frame } from '../process/frame.ts'
import type { Child } from './child.ts'

/** What the next process of a worker is told. */
export type Incarnation = Pick<Assignment, 'incarnation' | 'paused' | 'avoid'>

/** What the next supervisor of this name must know of a worker. */
export interface SlotState {
  id: string
  restart: RestartState
  paused: boolean
  /** By a command for workers: a resume of everything leaves it paused. Absent in what older releases wrote. */
  pausedAlone?: boolean
  failed: string | null
  record: WorkerRecord
}

/** The same worker without its crashes. A pause stays. */
export function forgotten(state: SlotState | undefined): SlotState | undefined {
  return state && { ...state, restart: NO_RESTARTS, failed: null }
}

interface Owned {
  child: Child | null
  status: WorkerStatus
  failed: string | null
  staleMs: number
}

/** What the health monitor is told. */
export function healthOf({ child, status, failed, staleMs }: Owned): Health {
  if (failed !== null) return 'failed'
  if (child === null) return status === 'starting' ? 'pending' : 'unhealthy'
  if (child.frame === null) return 'pending'
  if (child.silentMs >= staleMs) return 'unhealthy'
  // Only its owner gives a worker up.
  return child.frame.status === 'failed' ? 'unhealthy' : child.frame.status
}

/** What its slot knows about a worker, beside its process. */
type Known = Pick<WorkerRecord, 'id' | 'pool' | 'status' | 'health' | 'incarnation' | 'restarts' | 'lastExit'>

export function recordOf(known: Known, child: Child | null): WorkerRecord {
  const { frame = null, pid = null, lastFrameAt = null } = child ?? {}
  const { id, pool, status, health, incarnation, restarts, lastExit } = known
  return {
    id,
    pool,
    status,
    health,
    phase: frame?.phase ?? null,
    reason: frame?.reason ?? null,
    pid,
    host: hostname(),
    incarnation,
    current: (frame?.current ?? []).map(({ item, since, deadline }) => ({ item, since, deadline })),
    counters: frame === null ? null : countersOf(frame),
    program: frame?.program ?? null,
    restarts,
    lastExit,
    rss: frame?.rss ?? null,
    loopLagMs: frame?.loopLagMs ?? null,
    lastFrameAt,
  }
}

/** A worker of an older release reports fewer. */
function countersOf({ processed, errors, metrics }: Frame): WorkerCounters {
  const said: Record<string, number> = { ...metrics, processed: processed ?? 0, errors: errors ?? 0 }
  return Object.fromEntries(COUNTERS.map((name) => [name, said[name] ?? 0])) as unknown as WorkerCounters
}
