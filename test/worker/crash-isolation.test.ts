import { beforeEach, expect, test } from 'vitest'
import { ManualClock } from '../../src/testing/manual-clock.ts'
import { InFlight, type InFlightOptions } from '../../src/worker/in-flight.ts'
import { CrashIsolation } from '../../src/worker/isolation/crash-isolation.ts'

let isolation: CrashIsolation
let clock: ManualClock
let nudged: string[]
let mine: InFlight
let theirs: InFlight

beforeEach(() => {
  clock = new ManualClock()
  isolation = new CrashIsolation(clock)
  nudged = []
  mine = member('mine')
  theirs = member('theirs')
})

/** It holds nothing: nothing runs here. */
function member(name: string): InFlight {
  const inFlight = new InFlight({ clock } as Partial<InFlightOptions> as InFlightOptions)
  isolation.join(inFlight, () => nudged.push(name))
  return inFlight
}

test('everybody may claim as long as no suspect waits', () => {
  expect([isolation.mayClaim(mine), isolation.mayClaim(theirs)]).toEqual([true, true])
})

test('in an empty house the worker goes first whose suspect waits', () => {
  isolation.suspectsWaiting(mine, true)
  expect([isolation.mayClaim(mine), isolation.mayClaim(theirs)]).toEqual([true, false])
})

test('while a suspect waits, the end of every run is told to all', () => {
  isolation.ended(false, 1)
  expect(nudged).toEqual([])
  isolation.suspectsWaiting(mine, true)
  isolation.ended(false, 1)
  expect(nudged).toEqual(['mine', 'theirs'])
})

test('the end of a suspect is told to all: they held back for it', () => {
  isolation.ended(true, 1)
  expect(nudged).toEqual(['mine', 'theirs'])
})

test('a worker that leaves, or finds its suspect taken, holds nobody back', () => {
  isolation.suspectsWaiting(mine, true)
  isolation.leave(mine)
  expect(isolation.mayClaim(theirs)).toBe(true)
  expect(nudged).toContain('theirs')
})

test.each([
  ['started at once', 10, 3_000],
  ['took a second to start', 1_000, 19_000],
  ['is old', 3_600_000, 60_000],
])(
  'a process that %s prefers other work to suspects for a while: one may have taken its predecessor down',
  (_, ageMs, whileMs) => {
    const fresh = new CrashIsolation(clock)
    clock.advance(ageMs)
    fresh.join(mine, () => {})
    clock.advance(whileMs - 1)
    fresh.join(theirs, () => {})
    expect(fresh.isTimeForSuspects).toBe(false)
    clock.advance(1)
    expect(fresh.isTimeForSuspects).toBe(true)
  },
)

test('after a suspect others have nineteen times as long as it took, with the time to empty the house', () => {
  clock.advance(60_000)
  expect(isolation.isTimeForSuspects).toBe(true)
  isolation.suspectsWaiting(mine, true)
  clock.advance(200)
  isolation.suspectsWaiting(mine, false)
  clock.advance(300)
  isolation.ended(true, 300)
  clock.advance(9_499)
  expect(isolation.isTimeForSuspects).toBe(false)
  clock.advance(1)
  expect(isolation.isTimeForSuspects).toBe(true)
  isolation.ended(true, 10)
  clock.advance(190)
  expect(isolation.isTimeForSuspects).toBe(true)
})

test('a suspect that took long keeps the next one waiting for a minute at most', () => {
  clock.advance(60_000)
  isolation.ended(true, 600_000)
  clock.advance(59_999)
  expect(isolation.isTimeForSuspects).toBe(false)
  clock.advance(1)
  expect(isolation.isTimeForSuspects).toBe(true)
})
