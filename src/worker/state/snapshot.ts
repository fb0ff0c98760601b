import type { GleanerError } from '../../errors.ts'
import type { CurrentItem, Phase, WorkerCounters } from '../../model/worker.ts'

/** The state of a worker at this moment: plain data, except for the error. Times are wall time in milliseconds. */
export interface WorkerSnapshot {
  /** Identifies the worker. */
  id: string
  /** What it does. */
  phase: Phase
  /** Why the worker backs off. Null: it does not. */
  reason: string | null
  /** Since when, in milliseconds since 1970. */
  phaseSince: number
  /** Items in flight, or waiting for a resource, the oldest first. */
  current: HeldItem[]
  /** What it did since it started. */
  counters: WorkerCounters
  /** The moving average duration of its runs. The latest run has a weight of one fifth. Null before the first run. */
  averageMs: number | null
  /** How long its runs take, by task or discovery. */
  sources: SourceAverage[]
  /** The resources that it uses. */
  resources: ResourceSnapshot[]
  /** Why the worker gave up. Null while it has not. */
  failed: GleanerError | null
}

/** An item that a worker holds. The deadline is null while it waits for a resource. */
export interface HeldItem extends CurrentItem {
  /** The number of its claim. */
  fence: number
}

/** The average of one source of work: a task on a queue, or a discovery. */
export interface SourceAverage {
  /** `<queue>/<task>`, or the name of a discovery. */
  source: string
  /** How long a run takes on average. */
  averageMs: number
  /** How many runs ended. */
  processed: number
}

/** A resource of this process. */
export interface ResourceSnapshot {
  /** The name of the resource. */
  name: string
  /** Whether it is loaded. */
  state: 'unloaded' | 'loading' | 'loaded' | 'unloading' | 'unavailable'
  /** Runs of all workers in this process that use it now. */
  users: number
  /** Why the resource is unavailable. */
  reason: string | null
  /** When the worker probes the resource again. */
  until: number | null
}
