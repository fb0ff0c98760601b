/** A resource that a live worker waits for, and what it does not claim meanwhile. */
export interface Holdup {
  resource: string
  reason: string
  /** When it is looked for again. */
  until: number
  /** The names of tasks and discoveries. */
  holds: readonly string[]
  /** It is no resource: the worker itself is paused and claims nothing. `reason` says by what. */
  paused?: true
}

/** An older release reads it as a resource that holds up nothing. */
export function pauseHoldup(reason: string): Holdup {
  return { resource: 'pause', reason, until: 0, holds: [], paused: true }
}
