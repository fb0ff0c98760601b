import type { Range } from '../../src/http/wire/types.ts'

export const RANGES: readonly { value: Range; label: string }[] = [
  { value: 'hour', label: 'Hour' },
  { value: 'day', label: 'Day' },
  { value: 'week', label: 'Week' },
]

const MINUTE_MS = 60_000

/** A rate for each step. The last is under way: it counts for as long as it has lasted, and no moment makes a peak of it. */
export function perMinute<S extends { at: number }>(
  { asOf, stepMs, steps }: { asOf: number; stepMs: number; steps: S[] },
  of: (step: S) => number | null,
): (number | null)[] {
  return steps.map((step) => {
    const value = of(step)
    const lastedMs = Math.min(stepMs, Math.max(asOf - step.at, stepMs / 4))
    return value === null ? null : (value / lastedMs) * MINUTE_MS
  })
}
