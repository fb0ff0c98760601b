import { expect, test } from 'vitest'
import { aheadIsOld } from '../../src/worker/polling/polling.ts'
import { Prefetched } from '../../src/worker/prefetch/prefetched.ts'
import type { Item, Source } from '../../src/worker/sources/source.ts'

/** So many that were claimed at 0, of which some have been started. */
function line(claimed: number, started: number): Prefetched {
  const ahead = new Prefetched()
  const items = Array.from({ length: claimed }, (_, n) => ({ id: String(n) }) as Item)
  ahead.add(items, {} as Source, 0)
  for (let n = 0; n < started; n++) ahead.next()
  return ahead
}

const isOld = (line: Prefetched, nowMs: number) => aheadIsOld({ line }, nowMs)

test('what is held ahead goes back after 50 ms if nothing of it was begun', () => {
  expect(isOld(line(100, 0), 49)).toBe(false)
  expect(isOld(line(100, 0), 50)).toBe(true)
  expect(isOld(line(100, 100), 50)).toBe(false)
})

test('what will have begun within another 50 ms at the pace so far stays', () => {
  expect(isOld(line(100, 51), 50)).toBe(false)
  expect(isOld(line(100, 90), 140)).toBe(false)
})

test('what gets on too slowly for that goes back', () => {
  expect(isOld(line(100, 49), 50)).toBe(true)
  const slow = line(100, 50)
  expect(isOld(slow, 50)).toBe(false)
  for (let n = 0; n < 10; n++) slow.next()
  expect(isOld(slow, 100)).toBe(false)
  expect(isOld(slow, 125)).toBe(true)
})

test('after 150 ms all of it goes back within another 25 ms, however few are left: a pause may have been missed', () => {
  expect(isOld(line(100, 99), 149)).toBe(false)
  const few = line(100, 99)
  expect(isOld(few, 150)).toBe(false)
  expect(isOld(few, 175)).toBe(true)
})

test('a process that did not run for a while gets 25 ms to start what it holds', () => {
  const late = line(100, 0)
  expect(isOld(late, 300)).toBe(false)
  expect(isOld(late, 324)).toBe(false)
  expect(isOld(late, 325)).toBe(true)
  const timely = line(100, 0)
  expect(isOld(timely, 74)).toBe(true)
})

test('the pace is that since the oldest came', () => {
  const ahead = line(200, 190)
  ahead.add(
    Array.from({ length: 100 }, (_, n) => ({ id: `b${n}` }) as Item),
    {} as Source,
    40,
  )
  for (let n = 0; n < 10; n++) ahead.next()
  // Of those that came later nothing was begun.
  expect(isOld(ahead, 89)).toBe(false)
  expect(isOld(ahead, 90)).toBe(true)
})
