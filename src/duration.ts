import { InputError } from './errors.ts'
import { describeValue } from './thrown.ts'

export type { Duration } from './duration-type.ts'

const UNIT_MS = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 } as const
const DURATION = /^(\d+(?:\.\d+)?)(ms|s|m|h|d)$/

/** Ten years: anything longer is a unit mistaken for another. */
const DURATION_MAX_MS = 3650 * UNIT_MS.d

/** Reads a duration given by a user; `what` names the option in the error. */
export function durationMs(value: unknown, what: string): number {
  const ms = parse(value)
  if (ms === undefined || !Number.isFinite(ms) || ms < 0 || ms > DURATION_MAX_MS) {
    throw new InputError(
      `${what}: ${typeof value === 'string' ? JSON.stringify(value) : describeValue(value)} is not a duration`,
      {
        code: 'BAD_DURATION',
        hint: "Use '250ms', '5s', '2m', '1h', '7d' or a number of milliseconds, at most ten years.",
      },
    )
  }
  return Math.round(ms)
}

function parse(value: unknown): number | undefined {
  if (typeof value === 'number') return value
  if (typeof value !== 'string') return undefined
  const match = DURATION.exec(value)
  return match ? Number(match[1]) * UNIT_MS[match[2] as keyof typeof UNIT_MS] : undefined
}
