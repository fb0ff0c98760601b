import { flowsIn, type Level, levelAt, shareWithin } from './level.ts'
import { RANGES, type Range, rangeStart } from './metrics-history.ts'

/** The rows of a discovery in one step of time. Null: no count was made yet. */
export interface RowStep {
  /** When the step began. */
  at: number
  /** Rows that were not done at the end of the step, without quarantined rows. */
  left: number | null
  /** Rows that began to need work in the step. */
  came: number | null
  /** Rows that were done. */
  done: number | null
}

/** Numbers of rows over time. */
export interface RowHistory {
  /** When it was read, in milliseconds since 1970. */
  asOf: number
  /** The length of one step. */
  stepMs: number
  /** Rows done since the discovery was first declared. */
  doneEver: number
  /** The oldest first. */
  steps: RowStep[]
}

/** `levels`: in order, those within the range and the last one before it. */
export function rowHistoryOf(levels: readonly Level[], range: Range, now: number): RowHistory {
  const { stepMs, steps: count } = RANGES[range]
  const start = rangeStart(range, now)
  const flows = flowsIn(levels)
  const steps = Array.from({ length: count }, (_, index): RowStep => {
    const at = start + index * stepMs
    const end = at + stepMs
    const level = levelAt(levels, Math.min(end - 1, now))
    if (level === undefined) return { at, left: null, came: null, done: null }
    const total = (what: 'came' | 'done') =>
      Math.round(flows.reduce((sum, flow) => sum + flow[what] * shareWithin(flow, at, end), 0))
    return { at, left: level.left, came: total('came'), done: total('done') }
  })
  return { asOf: now, stepMs, doneEver: levels.at(-1)?.done ?? 0, steps }
}
