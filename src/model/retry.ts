/** When the next attempt follows a failed one. */

export type Backoff = 'fixed' | 'linear' | 'exponential'

export interface RetryPolicy {
  attempts: number
  /** A named curve, or the handler's own: attempt (from 1) → milliseconds. */
  backoff: Backoff | ((attempt: number) => number)
  baseMs: number
  maxMs: number
  /** 0.1 spreads a delay by ±10 %, so that tasks that failed together do not return together. */
  jitter: number
}

export const RETRY_DEFAULT: RetryPolicy = {
  attempts: 3,
  backoff: 'exponential',
  baseMs: 1_000,
  maxMs: 300_000,
  jitter: 0.1,
}

/** The delay after attempt `attempt` (from 1) has failed. `random` is in [0, 1). */
export function retryDelayMs(policy: RetryPolicy, attempt: number, random: number): number {
  const curve = curveMs(policy, attempt)
  // A function of the user's may answer with anything.
  const capped = Math.min(Number.isNaN(Number(curve)) ? policy.baseMs : curve, policy.maxMs)
  const spread = capped * policy.jitter * (random * 2 - 1)
  return Math.max(0, Math.round(Math.min(capped + spread, policy.maxMs)))
}

function curveMs({ backoff, baseMs }: RetryPolicy, attempt: number): number {
  if (typeof backoff === 'function') return backoff(attempt)
  switch (backoff) {
    case 'fixed':
      return baseMs
    case 'linear':
      return baseMs * attempt
    case 'exponential':
      return baseMs * 2 ** (attempt - 1)
  }
}
