import fc from 'fast-check'
import { expect, test } from 'vitest'
import { RETRY_DEFAULT, type RetryPolicy, retryDelayMs } from '../../src/model/retry.ts'

const exact = (policy: Partial<RetryPolicy>, attempt: number) =>
  retryDelayMs({ ...RETRY_DEFAULT, jitter: 0, ...policy }, attempt, 0.5)

const policy: fc.Arbitrary<RetryPolicy> = fc.record({
  attempts: fc.integer({ min: 1, max: 100 }),
  backoff: fc.constantFrom('fixed', 'linear', 'exponential'),
  baseMs: fc.integer({ min: 0, max: 1_000_000 }),
  maxMs: fc.integer({ min: 0, max: 10_000_000 }),
  jitter: fc.nat({ max: 1_000 }).map((n) => n / 1_000),
})
const attempt = fc.integer({ min: 1, max: 5_000 })
// Not fc.double, which is almost always next to zero.
const random = fc.nat({ max: 999_999 }).map((n) => n / 1_000_000)

test('by default the delay doubles from a second up to five minutes', () => {
  const delays = [1, 2, 3, 4, 9, 10, 50].map((n) => exact({}, n))
  expect(delays).toEqual([1_000, 2_000, 4_000, 8_000, 256_000, 300_000, 300_000])
})

test('a fixed delay stays the same, a linear one grows by its base', () => {
  expect([1, 2, 3].map((n) => exact({ backoff: 'fixed', baseMs: 70 }, n))).toEqual([70, 70, 70])
  expect([1, 2, 3].map((n) => exact({ backoff: 'linear', baseMs: 70 }, n))).toEqual([70, 140, 210])
})

test('a function of the user decides by the attempt, and is capped, too', () => {
  const backoff = (n: number) => n * n * 100
  expect([1, 2, 3, 100].map((n) => exact({ backoff, maxMs: 1_000 }, n))).toEqual([100, 400, 900, 1_000])
})

test('a function that answers with nonsense is no reason to retry at once for ever', () => {
  for (const nonsense of [Number.NaN, undefined, 'soon', {}]) {
    expect(exact({ backoff: () => nonsense as number, baseMs: 250 }, 1)).toBe(250)
  }
  expect(exact({ backoff: () => Number.POSITIVE_INFINITY, maxMs: 900 }, 1)).toBe(900)
  expect(exact({ backoff: () => -5 }, 1)).toBe(0)
})

test('a delay is a whole number of milliseconds between zero and the cap, for every policy', () => {
  fc.assert(
    fc.property(policy, attempt, random, (policy, attempt, random) => {
      const delayMs = retryDelayMs(policy, attempt, random)
      expect(Number.isSafeInteger(delayMs)).toBe(true)
      expect(delayMs).toBeGreaterThanOrEqual(0)
      expect(delayMs).toBeLessThanOrEqual(policy.maxMs)
    }),
  )
})

test('jitter moves a delay by no more than its share, up or down', () => {
  fc.assert(
    fc.property(policy, attempt, random, (policy, attempt, random) => {
      const plainMs = retryDelayMs({ ...policy, jitter: 0 }, attempt, random)
      const delayMs = retryDelayMs(policy, attempt, random)
      // Half a millisecond is lost in rounding, twice.
      expect(Math.abs(delayMs - plainMs)).toBeLessThanOrEqual(plainMs * policy.jitter + 1)
    }),
  )
})

test('jitter spreads over the whole range', () => {
  const at = (random: number) => retryDelayMs({ ...RETRY_DEFAULT, jitter: 0.1 }, 1, random)
  expect([at(0), at(0.5), at(0.999999)]).toEqual([900, 1_000, 1_100])
})

test('without jitter, a later attempt never waits less than an earlier one', () => {
  fc.assert(
    fc.property(policy, attempt, (policy, attempt) => {
      const steady = { ...policy, jitter: 0 }
      expect(exact(steady, attempt + 1)).toBeGreaterThanOrEqual(exact(steady, attempt))
    }),
  )
})
