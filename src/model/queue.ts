import type { Limit } from './limit.ts'
import type { Counts } from './task.ts'

export const STRATEGIES = ['fifo', 'lifo', 'priority', 'weighted'] as const

/** Which waiting task runs next. `weighted`: the chance of each task is proportional to 1 / priority. */
export type Strategy = (typeof STRATEGIES)[number]

/** The order of a queue. */
export interface Ordering {
  /** Which task comes first. */
  strategy: Strategy
  /** With `priority`: a task that has waited this long moves up by one priority step. Null: waiting changes nothing. */
  ageingMs: number | null
}

export const ORDERING_DEFAULT: Ordering = { strategy: 'priority', ageingMs: null }

/** What was said of a queue; what was not named stays as it is stored. */
export interface QueueSettings {
  name: string
  ordering?: Ordering
  /** Null: it has none (any more). */
  limit?: Limit | null
}

/** A queue: its order, and how many of its tasks are in each status. */
export interface QueueRecord extends Counts, Ordering {
  /** The name of the queue. */
  name: string
  /** True if no worker claims from it. */
  paused: boolean
  /** Live workers that serve it in another order than the stored one. */
  chosen: { worker: string; strategy: Strategy }[]
}

export function isSameOrdering(a: Ordering, b: Ordering): boolean {
  return a.strategy === b.strategy && a.ageingMs === b.ageingMs
}
