import { type Duration, durationMs } from '../duration.ts'
import { InputError } from '../errors.ts'
import type { Limit, Rate } from '../model/limit.ts'
import { declareOptions, refuseUnknown } from '../options.ts'
import { messageOf } from '../thrown.ts'
import { shown } from './names.ts'

/** Never more than `count` starts within any `per`. */
export interface RateOptions {
  /** How many may start. */
  count: number
  /** In which period. */
  per: Duration
}

/** A limit for each key, whatever queue and process its tasks are run by. */
export interface LimitOptions<I> {
  /** Whose limit it is: tasks with the same answer share one. */
  key: (input: I) => string | number
  /** So many of a key run at the same time. */
  concurrency?: number
  /** So many of a key start in that time. */
  rate?: RateOptions
}

/** What a definition says of limits, checked. */
export interface KeyLimit {
  limit: Limit
  key: (input: any) => unknown
}

const CONCURRENCY_MAX = 10_000
const COUNT_MAX = 1_000_000
const PER_MAX_MS = 366 * 24 * 3_600_000
const KEY_MAX = 200

const OPTIONS = declareOptions<LimitOptions<unknown>>('limit', { key: true, concurrency: true, rate: true })
const EXAMPLE = "e.g. { key: (input) => input.tenant, concurrency: 2, rate: { count: 10, per: '1s' } }."

/** Null when the task has none. */
export function checkKeyLimit(options: unknown, what: string): KeyLimit | null {
  if (options === undefined) return null
  if (typeof options !== 'object' || options === null) throw bad(what, options, `Use an object, ${EXAMPLE}`)
  refuseUnknown(options, OPTIONS, what)
  const { key, concurrency, rate } = options as Partial<LimitOptions<unknown>>
  if (typeof key !== 'function') throw bad(`${what}.key`, key, `Give a function, ${EXAMPLE}`)
  const limit = checkLimit({ concurrency, rate }, what)
  if (limit === null)
    throw bad(what, options, `It limits nothing. Give concurrency, rate or both, ${EXAMPLE}`)
  return { limit, key }
}

/** Null when nothing is limited. */
export function checkLimit(
  { concurrency, rate }: { concurrency?: unknown; rate?: unknown },
  what: string,
): Limit | null {
  const isNone = (value: unknown) => value === undefined || value === null
  if (isNone(concurrency) && isNone(rate)) return null
  return {
    concurrency: isNone(concurrency) ? null : checkCount(concurrency, CONCURRENCY_MAX, `${what}.concurrency`),
    rate: isNone(rate) ? null : checkRate(rate, `${what}.rate`),
  }
}

function checkRate(rate: unknown, what: string): Rate {
  const isRate = typeof rate === 'object' && rate !== null && 'count' in rate && 'per' in rate
  if (!isRate) throw bad(what, rate, "Use { count: 100, per: '1s' }.")
  const perMs = durationMs(rate.per as Duration, `${what}.per`)
  if (perMs < 1 || perMs > PER_MAX_MS) throw bad(`${what}.per`, rate.per, 'Use from 1 ms to a year.')
  return { count: checkCount(rate.count, COUNT_MAX, `${what}.count`), perMs: Math.ceil(perMs) }
}

function checkCount(value: unknown, max: number, what: string): number {
  if (Number.isInteger(value) && (value as number) >= 1 && (value as number) <= max) return value as number
  throw bad(what, value, `Use a whole number from 1 to ${max}.`)
}

/** The key of one task. Whatever the function does is an answer to the caller, not a crash. */
export function limitKeyOf({ key }: KeyLimit, input: unknown, task: string): string {
  const hint = `limit.key must return a number, or a string of 1 to ${KEY_MAX} characters.`
  let value: unknown
  try {
    value = key(input)
  } catch (cause) {
    throw new InputError(`task ${task}: limit.key failed: ${messageOf(cause)}`, {
      code: 'BAD_KEY',
      hint,
      cause,
    })
  }
  if (typeof value === 'number' && Number.isFinite(value)) return String(value)
  if (typeof value === 'string' && value !== '' && value.length <= KEY_MAX && !value.includes('\0'))
    return value
  throw new InputError(`task ${task}: limit.key: ${shown(value)} is not a key`, { code: 'BAD_KEY', hint })
}

function bad(what: string, value: unknown, hint: string): InputError {
  return new InputError(`${what}: ${shown(value)} is not valid`, { code: 'BAD_OPTION', hint })
}
