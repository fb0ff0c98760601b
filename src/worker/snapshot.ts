import type { GleanerError } from '../errors.ts'
import type { CurrentItem, Phase } from '../model/worker.ts'

/** A worker as it is at this moment: plain data, but for the error. Times are wall time in milliseconds. */
export interface WorkerSnapshot {
  id: string
  phase: Phase
  /** Why it backs off: what it waits for; null: it does not. */
  reason: string | null
  phaseSince: number
  /** What its handlers run, or wait for a resource to run, the oldest first. */
  current: HeldItem[]
  counters: WorkerCounters
  /** Of its last runs, the latest counting for a fifth; null before the first. */
  averageMs: number | null
  sources: SourceAverage[]
  resources: ResourceSnapshot[]
  /** Why it ended by itself; null while it has not. */
  failed: GleanerError | null
}

/** An item in a worker's hands. Its deadline is null while it waits for a resource. */
export interface HeldItem extends CurrentItem {
  fence: number
}

/** Since the worker began. The names are those of the health frames' `metrics`. */
export interface WorkerCounters {
  /** Times it looked for something to do. */
  discovery_attempts: number
  /** Items that somebody else took before it could. */
  claim_conflicts: number
  /** Runs that ended, well or badly, and were its own to settle. */
  processed: number
  /** Of these, the ones that failed. */
  errors: number
  /** Resource errors in a row; a success begins anew. */
  consecutive_errors: number
  /** Writes that were refused, because the claim was in other hands. */
  fenced_writes: number
}

/** Where work comes from: a task on a queue, or a discovery. */
export interface SourceAverage {
  /** `<queue>/<task>`, or the name of a discovery. */
  source: string
  averageMs: number
  processed: number
}

export interface ResourceSnapshot {
  name: string
  state: 'unloaded' | 'loading' | 'loaded' | 'unloading' | 'unavailable'
  /** Runs that use it now, of all workers of this process. */
  users: number
  /** Why it is unavailable. */
  reason: string | null
  /** When it is looked for again. */
  until: number | null
}
