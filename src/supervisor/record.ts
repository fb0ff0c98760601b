import { hostname } from 'node:os'
import type { WorkerRecord } from '../model/worker.ts'
import type { Child } from './child.ts'

/** What its slot knows of a worker beside its process. */
export type Known = Pick<
  WorkerRecord,
  'id' | 'pool' | 'status' | 'health' | 'incarnation' | 'restarts' | 'lastExit'
>

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
    restarts,
    lastExit,
    rss: frame?.rss ?? null,
    loopLagMs: frame?.loopLagMs ?? null,
    lastFrameAt,
  }
}
