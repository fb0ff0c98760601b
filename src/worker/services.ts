import type { Clock } from '../clock.ts'
import type { Enqueue, Tx } from '../define/types.ts'
import type { Meter } from '../queue/meter.ts'
import type { Store } from '../store/contract.ts'
import type { Emitter } from './events.ts'
import type { RunHooks } from './hooks.ts'
import type { PrefetchPolicy } from './prefetch/policy.ts'
import type { RunWatch } from './runs.ts'
import type { WorkerState } from './state/worker-state.ts'

/** What the engine shares among all its workers. */
export interface EngineServices {
  store: Store
  clock: Clock
  random: () => number
  emitter: Emitter
  hooks: RunHooks
  meter: Meter
  enqueue: Enqueue
  enqueueWithin: (tx: Tx) => Enqueue
  watch?: RunWatch
}

export interface InFlightOptions extends EngineServices {
  /** Of the worker. */
  id: string
  payloadLimit: number
  graceMs: number
  concurrency: number
  pace: PrefetchPolicy
  state: Pick<WorkerState, 'stats' | 'resources' | 'broke' | 'storeFailed'>
  session: () => string | null
  /** A hand is free, or there is news that should not wait. */
  onFree: () => void
  /** A handler returned. */
  onEnd: (wasSuspect: boolean, ranMs: number) => void
}
