import type { Batches } from './batches/batches.ts'
import type { Drained } from './drained.ts'
import type { Executor } from './executor.ts'
import type { InFlight } from './in-flight.ts'
import type { Polling } from './polling.ts'
import type { PrefetchPolicy } from './prefetch/policy.ts'
import type { ResourceTracker } from './resources/tracker.ts'
import type { WorkerSession } from './session.ts'
import type { Sources } from './sources/sources.ts'
import type { WorkerState } from './state/worker-state.ts'
import type { WorkerOptions, WorkerServices } from './worker-options.ts'

/** The collaborators of one worker. Each answers one question. */
export interface WorkerParts {
  options: WorkerOptions
  /** Shared with the other workers of the engine. */
  services: WorkerServices
  /** Which worker does the database know? */
  session: WorkerSession
  /** Where do items come from? */
  sources: Sources
  /** What does the worker hold? */
  inFlight: InFlight
  /** What starts next? */
  executor: Executor
  /** Which items go into one call? Null: each has a call of its own. */
  batches: Batches | null
  /** How many items does it hold beyond those that it can start? */
  prefetch: PrefetchPolicy
  /** Which items can it not run now, for want of a resource? */
  resources: ResourceTracker
  /** When does it look for work again? */
  polling: Polling
  /** How is it? */
  state: WorkerState
  /** Who waits until nothing is left to do? */
  drained: Drained
}
