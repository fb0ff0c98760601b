import type { WorkerRecord } from '../model/worker.ts'
import { identifySelf, isProvedDead } from '../process-identity.ts'
import type { SupervisorRow } from '../store/supervision.ts'

/** Of one on another machine nobody can prove that it is dead: it must have been silent for that long. */
const SILENT_MS = 30_000

/** Whether it still looks after its workers: it has not left, and is not known to be dead. */
export function isInOffice({ left, process, unseenMs }: SupervisorRow): boolean {
  if (left || isProvedDead(process)) return false
  return process.boot === identifySelf().boot || unseenMs < SILENT_MS
}

/** Nobody looks after the workers of one who died: what it said of them last may not be true any more. */
export function workersOf(row: SupervisorRow): WorkerRecord[] {
  const records = (JSON.parse(row.workers) as { record: WorkerRecord }[]).map(({ record }) => record)
  if (isInOffice(row) || row.left) return records
  return records.map((record) => ({ ...record, health: record.health === 'failed' ? 'failed' : 'unhealthy' }))
}
