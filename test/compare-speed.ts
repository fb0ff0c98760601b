/** More than that is what a machine adds that is busy with something else. */
const ROUNDS_MAX = 30
/** The first calls prepare and compile. */
const ROUNDS_MIN = 5

/**
 * How many times as long one call takes as another. They take turns, and the fastest of each counts: a busy machine slows down both, and never speeds up one.
 * Ends as soon as the ratio is below `enough`.
 */
export async function timesAsLong(one: () => unknown, other: () => unknown, enough: number): Promise<number> {
  let [oneMs, otherMs] = [Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY]
  for (let round = 1; round <= ROUNDS_MAX; round++) {
    otherMs = Math.min(otherMs, await tookMs(other))
    oneMs = Math.min(oneMs, await tookMs(one))
    if (round >= ROUNDS_MIN && oneMs < enough * otherMs) break
  }
  return oneMs / otherMs
}

async function tookMs(call: () => unknown): Promise<number> {
  const since = performance.now()
  await call()
  return performance.now() - since
}
