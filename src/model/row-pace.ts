import { averageOf } from './histogram.ts'
import { type Measured, MINUTE_MS, type Readings, ROWS } from './metrics.ts'

/** A rolling average: a new value counts for a fifth. */
const OLD_SHARE = 0.8

/** How fast rows of a discovery are done: counted from the first minute in which any was. */
export function paceOf(
  { now, minutes }: Readings,
  name: string,
): { donePerMinute: number; averageMs: number | null } {
  const own = minutes
    .filter((one) => one.queue === ROWS && one.name === name)
    .sort((a, b) => a.minute - b.minute)
  const first = own[0]
  if (first === undefined) return { donePerMinute: 0, averageMs: null }
  const done = own.reduce((sum, { completed }) => sum + completed, 0)
  const elapsedMs = Math.max(now - first.minute, 1)
  return {
    donePerMinute: Number(((done * MINUTE_MS) / elapsedMs).toPrecision(4)),
    averageMs: rollingMs(own),
  }
}

/** Each minute is one value, the newest last. */
function rollingMs(minutes: readonly Measured[]): number | null {
  return minutes.reduce<number | null>((average, { durations }) => {
    const ms = averageOf(durations)
    if (ms === null || average === null) return ms ?? average
    return Number((average * OLD_SHARE + ms * (1 - OLD_SHARE)).toPrecision(3))
  }, null)
}
