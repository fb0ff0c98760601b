import type { WorkerRecord } from '../model/worker.ts'
import { isInSight, isProvedDead } from '../process-identity.ts'
import type { Store } from '../store/ports/store.ts'
import type { SupervisorRow } from '../store/ports/supervision.ts'

/** For a supervisor that this process cannot see, there is no proof that it is dead: it must have been silent for that long. */
const SILENT_MS = 30_000

/** Whether it still looks after its workers: it has not left, and is not known to be dead. */
export function isLeading({ left, process, unseenMs }: SupervisorRow, store: Pick<Store, 'remote'>): boolean {
  if (left || isProvedDead(process, store)) return false
  return isInSight(process) || unseenMs < SILENT_MS
}

/** Nobody looks after the workers of one who died: what it said of them last may not be true any more. */
export function workersOf(row: SupervisorRow, store: Pick<Store, 'remote'>): WorkerRecord[] {
  // A supervisor of an older release reports less.
  const records = (JSON.parse(row.workers) as { record: WorkerRecord }[]).map(({ record }) => ({
    ...record,
    reason: record.reason ?? null,
    counters: record.counters ?? null,
    program: record.program ?? null,
  }))
  if (isLeading(row, store) || row.left) return records
  return records.map((record) => ({ ...record, health: record.health === 'failed' ? 'failed' : 'unhealthy' }))
}
