import type { WorkerRecord } from '../model/worker.ts'
import { identifySelf, isProvedDead } from '../process-identity.ts'
import type { Store } from '../store/contract.ts'
import type { SupervisorRow } from '../store/supervision.ts'
import type { SlotState } from './state.ts'

/** A supervisor, as others see it. */
export interface SupervisorRecord {
  name: string
  host: string
  pid: number
  since: number
  /** False: it left, is dead, or has not been heard of from another machine for too long. */
  running: boolean
}

export interface Registry {
  supervisors: SupervisorRecord[]
  workers: WorkerRecord[]
}

/** Of one on another machine nobody can tell but by its silence. */
const SILENT_MS = 30_000

/** What supervisors wrote down of themselves and their workers: for people, never for decisions. */
export async function readRegistry(store: Store): Promise<Registry> {
  const rows = await store.supervisors()
  return { supervisors: rows.map(supervisorOf), workers: rows.flatMap(workersOf) }
}

function supervisorOf(row: SupervisorRow): SupervisorRecord {
  const { name, process, since } = row
  return { name, host: process.host, pid: process.pid, since, running: isRunning(row) }
}

function isRunning({ left, process, unseenMs }: SupervisorRow): boolean {
  if (left || isProvedDead(process)) return false
  return process.boot === identifySelf().boot || unseenMs < SILENT_MS
}

/** Nobody looks after the workers of one who died: what he said of them last may not be true any more. */
function workersOf(row: SupervisorRow): WorkerRecord[] {
  const records = (JSON.parse(row.workers) as SlotState[]).map(({ record }) => record)
  if (isRunning(row) || row.left) return records
  return records.map((record) => ({ ...record, health: record.health === 'failed' ? 'failed' : 'unhealthy' }))
}
