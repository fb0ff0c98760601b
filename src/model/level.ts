import { MINUTE_MS } from './metrics.ts'

/** How many there were at a time: tasks that were unfinished, or rows of a discovery that were not done. */
export interface Level {
  at: number
  left: number
  /** Of rows, how many were ever done: what came in since another level follows from both. */
  done: number
}

/** No reader needs it more often. */
const LOOK_MS = 10_000

/** A look that finds nothing new, or comes right after another one, is not worth a write. */
export function isNews({ at, left, done }: Level, last: Level | undefined): boolean {
  if (last === undefined) return true
  return at - last.at >= LOOK_MS && (left !== last.left || done !== last.done)
}

/** What there was at a time: it stays until somebody sees something else. Undefined: nobody had looked yet. */
export function levelAt(levels: readonly Level[], at: number): Level | undefined {
  return levels.findLast((one) => one.at <= at)
}

/** What came in and what was done between two looks, and when. */
export interface Flow {
  from: number
  to: number
  came: number
  done: number
}

/**
 * What changes is seen within a minute, and what does not is not written down: so it happened in the last minute before it was
 * seen. Rows that somebody took out of the table himself are no inflow.
 */
export function flowsIn(levels: readonly Level[]): Flow[] {
  return levels.slice(1).map((level, index) => {
    const before = levels[index]!
    const done = Math.max(0, level.done - before.done)
    const from = Math.max(before.at, level.at - MINUTE_MS)
    return { from, to: level.at, done, came: Math.max(0, level.left - before.left + done) }
  })
}

/** The part of something that lies within a span of time. */
export function shareWithin({ from, to }: Flow, start: number, end: number): number {
  if (to <= from) return to > start && to <= end ? 1 : 0
  return Math.max(0, Math.min(to, end) - Math.max(from, start)) / (to - from)
}
