/** A resource that is unavailable to a live worker, and the items that the worker does not claim for this reason. */
export interface UnavailableResource {
  resource: string
  reason: string
  /** When the worker probes the resource again. */
  until: number
  /** The names of the tasks and discoveries that need it. */
  holds: readonly string[]
  /** Not a resource: the worker itself is paused and claims nothing. `reason` says why. */
  paused?: true
}

/** An older release reads it as a resource that holds up nothing. */
export function pausedWorker(reason: string): UnavailableResource {
  return { resource: 'pause', reason, until: 0, holds: [], paused: true }
}
