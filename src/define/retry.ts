import { durationMs } from '../duration.ts'
import { InputError } from '../errors.ts'
import { RETRY_DEFAULT, type RetryPolicy } from '../model/retry.ts'
import { declareOptions, refuseUnknown } from '../options.ts'
import { shown } from './names.ts'
import type { Retry } from './types.ts'

const ATTEMPTS_MAX = 1_000
const OPTIONS = declareOptions<Retry>('retry', {
  attempts: true,
  backoff: true,
  base: true,
  max: true,
  jitter: true,
})
const CURVES = ['fixed', 'linear', 'exponential']

/** What a user said of retrying, checked; what he left out is left out. */
export function checkRetry(retry: Retry, what: string): Partial<RetryPolicy> {
  if (typeof retry !== 'object' || retry === null)
    throw bad(what, shown(retry), 'Use an object, e.g. { attempts: 5 }.')
  refuseUnknown(retry, OPTIONS, what)
  const policy: Partial<RetryPolicy> = {}
  if (retry.attempts !== undefined) policy.attempts = checkAttempts(retry.attempts, what)
  if (retry.backoff !== undefined) policy.backoff = checkBackoff(retry.backoff, what)
  if (retry.base !== undefined) policy.baseMs = durationMs(retry.base, `${what}.base`)
  if (retry.max !== undefined) policy.maxMs = durationMs(retry.max, `${what}.max`)
  if (retry.jitter !== undefined) policy.jitter = checkJitter(retry.jitter, what)
  return policy
}

export function retryPolicy(retry: Retry | undefined, what: string): RetryPolicy {
  return { ...RETRY_DEFAULT, ...(retry === undefined ? {} : checkRetry(retry, what)) }
}

function checkAttempts(attempts: number, what: string): number {
  if (Number.isInteger(attempts) && attempts >= 1 && attempts <= ATTEMPTS_MAX) return attempts
  throw bad(`${what}.attempts`, shown(attempts), `Use a whole number from 1 to ${ATTEMPTS_MAX}.`)
}

function checkBackoff(backoff: NonNullable<Retry['backoff']>, what: string): RetryPolicy['backoff'] {
  if (typeof backoff === 'function') return (attempt) => durationMs(backoff(attempt), `${what}.backoff`)
  if (CURVES.includes(backoff)) return backoff
  throw bad(`${what}.backoff`, shown(backoff), `Use ${CURVES.map((c) => `'${c}'`).join(', ')} or a function.`)
}

function checkJitter(jitter: number, what: string): number {
  if (typeof jitter === 'number' && jitter >= 0 && jitter <= 1) return jitter
  throw bad(`${what}.jitter`, shown(jitter), 'Use a number from 0 to 1.')
}

function bad(what: string, value: string, hint: string): InputError {
  return new InputError(`${what}: ${value} is not valid`, { code: 'BAD_OPTION', hint })
}
