import { durationMs } from '../../duration.ts'
import {
  ChildFailed,
  GleanerError,
  InputError,
  isOutage,
  PermanentError,
  ResourceError,
  RetryLater,
  SignalTimeout,
  StoppedError,
  TaskCancelled,
  TimeoutError,
} from '../../errors.ts'
import type { Outcome } from '../../model/outcome.ts'
import type { Failure, FailureKind } from '../../model/task.ts'
import { describeThrown, isInstanceOf, property, titleOf } from '../../thrown.ts'
import { ForeignFailure } from './foreign-failure.ts'

/** What has to be known of an attempt that did not complete. */
interface FailedAttempt {
  context: { abortReason?: Error }
  /** The delay before the next attempt, by its policy. */
  retryAfterMs: number
  services: { random: () => number }
  trouble: ResourceError | undefined
  outage: unknown
}

const MESSAGE_MAX = 2_000
/** The shortest wait after the store has failed. The longest is twice that. */
const OUTAGE_REST_MS = 1_000

/** The outcome of an attempt that did not complete: one clause for each way. */
export function outcomeOfError(attempt: FailedAttempt, error: unknown): Outcome {
  const reason = attempt.context.abortReason
  if (reason instanceof StoppedError) return { kind: 'returned' }
  if (reason instanceof TaskCancelled) return { kind: 'cancelled' }
  if (reason instanceof TimeoutError) return failed(attempt, 'timeout', reason)
  if (error instanceof RetryLater) return later(error)
  if (error instanceof ResourceError) return broken(attempt, error)
  // The same input or result would be refused again, a wait that timed out stays so, and a child that failed had its own attempts.
  if (FINAL.some((kind) => error instanceof kind) || isRefusal(error)) return permanent(error)
  if (isOutage(error)) return withoutStore(attempt, error)
  return failed(attempt, 'error', error)
}

function failed(attempt: FailedAttempt, kind: FailureKind, error: unknown): Outcome {
  const requestedMs = isInstanceOf(error, ForeignFailure) ? error.retryAfterMs : null
  return { kind: 'failed', failure: failure(kind, error), retryAfterMs: requestedMs ?? attempt.retryAfterMs }
}

/** Another worker, or this one when it is repaired, may do better. */
function broken(attempt: FailedAttempt, error: ResourceError): Outcome {
  attempt.trouble = error
  return { kind: 'later', afterMs: attempt.retryAfterMs, failure: failure('error', error) }
}

/** It is not the handler's fault. Many attempts may have met the same error, so they do not all come back at once. */
function withoutStore(attempt: FailedAttempt, error: unknown): Outcome {
  attempt.outage = error
  const restMs = Math.round(OUTAGE_REST_MS * (1 + attempt.services.random()))
  return { kind: 'later', afterMs: Math.max(attempt.retryAfterMs, restMs), failure: failure('error', error) }
}

function later(error: RetryLater): Outcome {
  try {
    return { kind: 'later', afterMs: durationMs(error.after, 'RetryLater') }
  } catch (bad) {
    return permanent(bad)
  }
}

function permanent(error: unknown): Outcome {
  return { kind: 'failed', failure: failure('permanent', error), retryAfterMs: null }
}

const FINAL = [PermanentError, SignalTimeout, ChildFailed]
const FLOW_REFUSALS = ['FLOW_CYCLE', 'FLOW_TOO_DEEP', 'FLOW_TOO_LARGE']

function isRefusal(error: unknown): boolean {
  const refusals: unknown[] = [
    'BAD_INPUT',
    'NOT_JSON',
    'RESULT_TOO_LARGE',
    'STEP_TOO_LARGE',
    ...FLOW_REFUSALS,
  ]
  return error instanceof InputError && refusals.includes(property(error, 'code'))
}

/** Any thrown value, bounded. */
function failure(kind: FailureKind, error: unknown): Failure {
  const thrown = describeThrown(error)
  const isInOwnWords = error instanceof GleanerError || isInstanceOf(error, ForeignFailure)
  const message = isInOwnWords ? thrown.message : titleOf(thrown)
  return { kind, message: message.slice(0, MESSAGE_MAX), stack: thrown.stack }
}
