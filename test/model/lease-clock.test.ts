import { expect, test } from 'vitest'
import { advanced, hasExpired } from '../../src/model/lease-clock.ts'

const LEASE_MS = 30_000
const clock = { timeMs: 1_000, at: 50_000 }
const after = (ms: number) => advanced(clock, clock.at + ms, LEASE_MS)

test.each([
  ['no time', 0, 0],
  ['a part of the lease', 14_999, 14_999],
  ['half of the lease, and no more', 15_000, 15_000],
])('the lease clock goes on by %s in which sessions could be renewed', (_what, ms, counted) => {
  expect(after(ms)).toEqual({ timeMs: 1_000 + counted, at: 50_000 + ms })
})

test.each([15_001, 3_600_000])('a gap of %d ms counts as a tenth of the lease', (ms) => {
  expect(after(ms)).toEqual({ timeMs: 4_000, at: 50_000 + ms })
})

test('parts of a millisecond are left out', () => {
  expect(advanced({ timeMs: 0, at: 0 }, 100, 99)).toEqual({ timeMs: 9, at: 100 })
})

test.each([-1, -3_600_000])('a clock that was set back by %d ms counts nothing', (ms) => {
  expect(after(ms)).toEqual({ timeMs: 1_000, at: 50_000 + ms })
})

test.each([
  ['before its lease', { countedMs: 20_000, sinceMs: 9_999 }, false],
  ['with its lease', { countedMs: 20_000, sinceMs: 10_000 }, true],
  ['after its lease', { countedMs: 30_001, sinceMs: 0 }, true],
  ['not in a gap', { countedMs: 20_000, sinceMs: 3_600_000 }, false],
  ['in a gap at its end', { countedMs: 27_000, sinceMs: 3_600_000 }, true],
])('a session expires %s', (_when, unrenewed, expired) => {
  expect(hasExpired(unrenewed, LEASE_MS)).toBe(expired)
})
