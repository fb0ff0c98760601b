import { addTo, type Histogram, percentileMs } from './histogram.ts'
import { type Level, levelAt } from './level.ts'
import { type Measured, MINUTE_MS, type Readings, ROWS } from './metrics.ts'

/** What charts show of a span of time: that many steps, of that length. */
export const RANGES = {
  hour: { stepMs: MINUTE_MS, steps: 60 },
  day: { stepMs: 15 * MINUTE_MS, steps: 96 },
  week: { stepMs: 120 * MINUTE_MS, steps: 84 },
} as const
/** How far back a history goes. */
export type Range = keyof typeof RANGES

/** What happened in one step of time. */
export interface Step {
  /** When it began. */
  at: number
  /** Tasks that were enqueued. */
  enqueued: number
  /** Attempts that completed. */
  completed: number
  /** Attempts after which the task failed for good. */
  failed: number
  /** Attempts that failed, with another one to follow. */
  retried: number
  /** How long attempts took; null when there was none. */
  p50: number | null
  /** The 95th percentile of the duration, in milliseconds. */
  p95: number | null
  /** Tasks that were unfinished at its end. */
  depth: number
  /** Rows of discoveries that were done. */
  rowsDone: number
}

/** Numbers of tasks over time. */
export interface History {
  /** When it was read, in milliseconds since 1970. */
  asOf: number
  /** The length of one step. */
  stepMs: number
  /** The oldest first. */
  steps: Step[]
}

/** The first moment that a range shows. */
export function rangeStart(range: Range, now: number): number {
  const { stepMs, steps } = RANGES[range]
  return Math.floor(now / stepMs) * stepMs - (steps - 1) * stepMs
}

/**
 * How it went, step by step, also those in which nothing happened. Whoever writes down what was measured also writes down how many
 * tasks were unfinished then: `levels`, in order, those within the range and the last one before it. Before the first there was nothing.
 */
export function historyOf(
  { now, present, minutes }: Readings,
  levels: readonly Level[],
  range: Range,
): History {
  const { stepMs, steps: count } = RANGES[range]
  const start = rangeStart(range, now)
  const within = Map.groupBy(minutes, ({ minute }) => Math.floor((minute - start) / stepMs))
  const unfinished = (['scheduled', 'queued', 'running', 'suspended'] as const)
    .map((status) => total(present, status))
    .reduce((sum, count) => sum + count)
  const steps = Array.from({ length: count }, (_, index) => {
    const at = start + index * stepMs
    const isNow = index === count - 1
    const depth = isNow ? unfinished : (levelAt(levels, at + stepMs - 1)?.left ?? 0)
    return stepOf(at, within.get(index) ?? [], depth)
  })
  return { asOf: now, stepMs, steps }
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

function total<K extends string>(rows: readonly Record<K, number>[], counter: K): number {
  return rows.reduce((sum, row) => sum + row[counter], 0)
}
