import type { Clock } from '../clock.ts'
import type { Enqueue, Tx } from '../define/types.ts'
import type { Meter } from '../queue/meter.ts'
import type { Store } from '../store/contract.ts'
import type { Emitter } from './events.ts'
import type { RunHooks } from './hooks.ts'
import type { Pace } from './prefetch/policy.ts'
import type { RunWatch } from './runs.ts'
import type { Vitals } from './state/worker-state.ts'

/** What the engine shares among all its workers. */
export interface HandsServices {
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

export interface HandsOptions extends HandsServices {
  /** Of the worker. */
  id: string
  payloadLimit: number
  graceMs: number
  concurrency: number
  pace: Pace
  vitals: Pick<Vitals, 'book' | 'needs' | 'broke' | 'storeFailed'>
  session: () => string | null
  /** A hand is free, or there is news that should not wait. */
  onFree: () => void
  /** A handler returned. */
  onEnd: (wasSuspect: boolean, ranMs: number) => void
}
