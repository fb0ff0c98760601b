import type { Clock } from '../../clock.ts'
import type { Phase } from '../../model/worker.ts'
import { harmless } from '../attempt/events.ts'

/** What a worker's phase follows from. */
export interface Situation {
  stopping: boolean
  /** It has a session, and knows of each resource whether it is there. */
  ready: boolean
  /** It is, or everything. */
  paused: boolean
  /** A resource is unavailable, or the database is. */
  backingOff: boolean
  /** Handlers that run. */
  running: number
  /** Items that wait for a resource to be loaded. */
  loading: number
}

/**
 * Whoever lacks something is backing off, whatever else it still does: that is what its owner has to know. A pause shows
 * when nothing runs any more.
 */
export function phaseOf({ stopping, ready, paused, backingOff, running, loading }: Situation): Phase {
  if (stopping) return 'stopping'
  if (!ready) return 'initializing'
  if (paused && running + loading === 0) return 'paused'
  if (backingOff) return 'backing_off'
  if (running > 0) return 'processing'
  return loading > 0 ? 'loading_models' : 'idle'
}

/** Called when the phase of a worker changes. */
export type OnPhase = (phase: Phase, previous: Phase) => void

/** The phase a worker is in, and those who are told when it changes. */
export class Phases {
  readonly #clock: Clock
  readonly #onError: (error: unknown) => void
  readonly #listeners = new Set<OnPhase>()
  phase: Phase = 'initializing'
  since: number

  constructor(clock: Clock, onError: (error: unknown) => void) {
    this.#clock = clock
    this.#onError = onError
    this.since = clock.now()
  }

  on(listener: OnPhase): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  enter(phase: Phase): void {
    if (phase === this.phase) return
    const previous = this.phase
    this.phase = phase
    this.since = this.#clock.now()
    for (const listener of this.#listeners) harmless(() => listener(phase, previous), this.#onError)
  }
}
