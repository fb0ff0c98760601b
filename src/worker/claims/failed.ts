import { type Duration, durationMs } from '../../duration.ts'
import type { Outcome } from '../../model/outcome.ts'
import type { Attempt } from '../attempt/attempt.ts'
import { ForeignFailure } from '../attempt/foreign-failure.ts'
import { outcomeOfError } from '../attempt/outcome-of-error.ts'

/** What a caller that fails says of another attempt. */
export interface FailOptions {
  /** `false`: no further attempt. A duration: an attempt after it. Default: as the retry policy says. */
  retry?: boolean | Duration
}

/** How an attempt ends that its caller failed. A policy or an abort may know better. */
export function failedBy(attempt: Attempt, error: unknown, { retry = true }: FailOptions = {}): Outcome {
  const asked = typeof retry === 'boolean' ? retry : durationMs(retry, 'retry')
  const said =
    typeof error === 'string' ? new ForeignFailure(error, { stack: null, retryAfterMs: null }) : error
  const outcome = outcomeOfError(attempt, said)
  if (outcome.kind !== 'failed' || outcome.failure.kind === 'timeout' || asked === true) return outcome
  return { ...outcome, retryAfterMs: asked === false ? null : asked }
}
