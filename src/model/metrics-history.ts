import { addTo, type Histogram, percentileMs } from './histogram.ts'
import { type Measured, MINUTE_MS, type Readings, ROWS } from './metrics.ts'

/** What charts show of a span of time: that many steps, of that length. */
export const RANGES = {
  hour: { stepMs: MINUTE_MS, steps: 60 },
  day: { stepMs: 15 * MINUTE_MS, steps: 96 },
  week: { stepMs: 120 * MINUTE_MS, steps: 84 },
} as const
export type Range = keyof typeof RANGES

/** What happened in one step of time. */
export interface Step {
  /** When it began. */
  at: number
  enqueued: number
  completed: number
  failed: number
  retried: number
  /** How long attempts took; null when there was none. */
  p50: number | null
  p95: number | null
  /** Tasks that were unfinished at its end, as far as their coming and going tells: see `historyOf`. */
  depth: number
  /** Rows of discoveries that were done. */
  rowsDone: number
}

export interface History {
  asOf: number
  stepMs: number
  steps: Step[]
}

/** The first moment that a range shows. */
export function rangeStart(range: Range, now: number): number {
  const { stepMs, steps } = RANGES[range]
  return Math.floor(now / stepMs) * stepMs - (steps - 1) * stepMs
}

/**
 * How it went, step by step, also those in which nothing happened. Nobody writes down how many tasks there were at a time: it
 * follows from how many there are now and from what came and went since. What was cancelled or removed meanwhile counts as if it
 * had never been there.
 */
export function historyOf({ now, present, minutes }: Readings, range: Range): History {
  const { stepMs, steps: count } = RANGES[range]
  const start = rangeStart(range, now)
  const within = Map.groupBy(minutes, ({ minute }) => Math.floor((minute - start) / stepMs))
  const steps: Step[] = []
  let depth = present.reduce((sum, one) => sum + one.scheduled + one.queued + one.running, 0)
  for (let index = count - 1; index >= 0; index--) {
    const step = stepOf(start + index * stepMs, within.get(index) ?? [], Math.max(0, depth))
    steps.push(step)
    depth -= step.enqueued - step.completed - step.failed
  }
  return { asOf: now, stepMs, steps: steps.reverse() }
}

function stepOf(at: number, measured: readonly Measured[], depth: number): Step {
  const tasks = measured.filter(({ queue }) => queue !== ROWS)
  const rows = measured.filter(({ queue }) => queue === ROWS)
  const durations: Histogram = new Map()
  for (const one of tasks) addTo(durations, one.durations)
  return {
    at,
    enqueued: total(tasks, 'enqueued'),
    completed: total(tasks, 'completed'),
    failed: total(tasks, 'failed'),
    retried: total(tasks, 'retried'),
    p50: percentileMs(durations, 0.5),
    p95: percentileMs(durations, 0.95),
    depth,
    rowsDone: total(rows, 'completed'),
  }
}

function total(measured: readonly Measured[], counter: 'enqueued' | 'completed' | 'failed' | 'retried') {
  return measured.reduce((sum, one) => sum + one[counter], 0)
}
