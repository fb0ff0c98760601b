import { expect, test } from 'vitest'
import type { Item, Source } from '../../src/worker/attempt/source.ts'
import { Prefetched } from '../../src/worker/prefetch/prefetched.ts'

/** So many that were claimed at 0, of which some have been started. */
function prefetch(claimed: number, started: number): Prefetched {
  const prefetched = new Prefetched()
  const items = Array.from({ length: claimed }, (_, n) => ({ id: String(n) }) as Item)
  prefetched.add(items, {} as Source, 0, 0)
  for (let n = 0; n < started; n++) prefetched.next()
  return prefetched
}

const isStale = (prefetched: Prefetched, nowMs: number) => prefetched.isStale(nowMs)

test('what is held ahead goes back after 50 ms if nothing of it was begun', () => {
  expect(isStale(prefetch(100, 0), 49)).toBe(false)
  expect(isStale(prefetch(100, 0), 50)).toBe(true)
  expect(isStale(prefetch(100, 100), 50)).toBe(false)
})

test('what will have begun within another 50 ms at the pace so far stays', () => {
  expect(isStale(prefetch(100, 51), 50)).toBe(false)
  expect(isStale(prefetch(100, 90), 140)).toBe(false)
})

test('what gets on too slowly for that goes back', () => {
  expect(isStale(prefetch(100, 49), 50)).toBe(true)
  const slow = prefetch(100, 50)
  expect(isStale(slow, 50)).toBe(false)
  for (let n = 0; n < 10; n++) slow.next()
  expect(isStale(slow, 100)).toBe(false)
  expect(isStale(slow, 125)).toBe(true)
})

test('after 150 ms all of it goes back within another 25 ms, however few are left: a pause may have been missed', () => {
  expect(isStale(prefetch(100, 99), 149)).toBe(false)
  const few = prefetch(100, 99)
  expect(isStale(few, 150)).toBe(false)
  expect(isStale(few, 175)).toBe(true)
})

test('a process that did not run for a while gets 25 ms to start what it holds', () => {
  const late = prefetch(100, 0)
  expect(isStale(late, 300)).toBe(false)
  expect(isStale(late, 324)).toBe(false)
  expect(isStale(late, 325)).toBe(true)
  const timely = prefetch(100, 0)
  expect(isStale(timely, 74)).toBe(true)
})

test('the pace is that since the oldest came', () => {
  const prefetched = prefetch(200, 190)
  prefetched.add(
    Array.from({ length: 100 }, (_, n) => ({ id: `b${n}` }) as Item),
    {} as Source,
    40,
    0,
  )
  for (let n = 0; n < 10; n++) prefetched.next()
  // Of those that came later nothing was begun.
  expect(isStale(prefetched, 89)).toBe(false)
  expect(isStale(prefetched, 90)).toBe(true)
})
