import type { Limit } from '../model/limit.ts'

/** A limit's row, in either store. */
export interface LimitRow {
  scope: string
  concurrency: number | null
  rate_count: number | null
  rate_per_ms: number | null
}

export function limitOf({ concurrency, rate_count, rate_per_ms }: LimitRow): Limit {
  const rate = rate_count === null || rate_per_ms === null ? null : { count: rate_count, perMs: rate_per_ms }
  return { concurrency, rate }
}

/** The gate of a key: names hold no slash. */
export function limitScope({ queue, name }: { queue: string; name: string }, key: string): string {
  return `key/${queue}/${name}/${key}`
}

/** How long a key without work is kept, in case it comes back. */
export const IDLE_KEY_MS = 3_600_000

/** Keys that may be looked at for one claim before it has to do with what it found. */
export const TURNS_MAX = 1_000
