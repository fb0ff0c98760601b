import type { Store } from '../../store/ports/store.ts'
import type { WorkerServices } from '../worker-options.ts'

/** What claims by hand take from the engine. */
export interface ClaimServices extends WorkerServices {
  store: Pick<Store, 'onChange' | 'remote' | 'sessions' | 'tasks' | 'rows' | 'steps' | 'flows'>
  payloadLimit: number
  timings: { leaseMs: number; pollMs: number; graceMs: number; idleMinMs: number; idleMaxMs: number }
}
