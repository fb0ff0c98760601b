import { NO_RESTARTS, type RestartState } from '../model/restart.ts'
import type { WorkerRecord } from '../model/worker.ts'
import type { Assignment } from '../process/assignment.ts'

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
