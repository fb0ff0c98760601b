import type { WorkerRecord } from '../model/worker.ts'
import type { Store } from '../store/ports/store.ts'
import type { SupervisorRow } from '../store/ports/supervision.ts'
import { isLeading, workersOf } from '../worker/supervisors.ts'

/** A supervisor, as others see it. */
export interface SupervisorRecord {
  /** Its name: a database has one running supervisor of each name. */
  name: string
  /** The machine that it runs on. */
  host: string
  /** Its process. */
  pid: number
  /** When it started, in milliseconds since 1970. */
  since: number
  /** False: it left, is dead, or has not been heard of from another machine for too long. */
  running: boolean
}

interface RegistryContents {
  supervisors: SupervisorRecord[]
  workers: WorkerRecord[]
}

/** What supervisors wrote down of themselves and their workers: for people, never for decisions. */
export async function readRegistry(store: Pick<Store, 'sessions' | 'remote'>): Promise<RegistryContents> {
  const rows = await store.sessions.supervisors()
  return {
    supervisors: rows.map((row) => supervisorOf(row, store)),
    workers: rows.flatMap((row) => workersOf(row, store)),
  }
}

function supervisorOf(row: SupervisorRow, store: Pick<Store, 'remote'>): SupervisorRecord {
  const { name, process, since } = row
  return { name, host: process.host, pid: process.pid, since, running: isLeading(row, store) }
}
