/** Where a task stands in its lane: the lowest rank is next. Drawn whenever a task becomes queued. */

export const PRIORITY_FIRST = 1
export const PRIORITY_LAST = 1000
export const PRIORITY_DEFAULT = 100

/** More than any time in milliseconds until the year 2109; 1000 steps still fit a safe integer. */
export const PRIORITY_STEP = 2 ** 42

/** Priority decides; equal priorities in the order in which they became due. */
export function rankOf(priority: number, queuedAtMs: number): number {
  return priority * PRIORITY_STEP + queuedAtMs
}
