import { beforeEach, expect, test } from 'vitest'
import { ManualClock } from '../../src/testing/manual-clock.ts'
import { Hands } from '../../src/worker/in-flight.ts'
import { Household } from '../../src/worker/isolation/crash-isolation.ts'
import type { HandsOptions } from '../../src/worker/services.ts'

let household: Household
let clock: ManualClock
let nudged: string[]
let mine: Hands
let theirs: Hands

beforeEach(() => {
  clock = new ManualClock()
  household = new Household(clock)
  nudged = []
  mine = member('mine')
  theirs = member('theirs')
})

/** Empty hands: nothing is run here. */
function member(name: string): Hands {
  const hands = new Hands({ clock } as Partial<HandsOptions> as HandsOptions)
  household.join(hands, () => nudged.push(name))
  return hands
}

test('everybody may claim as long as no suspect waits', () => {
  expect([household.mayClaim(mine), household.mayClaim(theirs)]).toEqual([true, true])
})

test('in an empty house the worker goes first whose suspect waits', () => {
  household.suspectsWaiting(mine, true)
  expect([household.mayClaim(mine), household.mayClaim(theirs)]).toEqual([true, false])
})

test('while a suspect waits, the end of every run is told to all', () => {
  household.ended(false, 1)
  expect(nudged).toEqual([])
  household.suspectsWaiting(mine, true)
  household.ended(false, 1)
  expect(nudged).toEqual(['mine', 'theirs'])
})

test('the end of a suspect is told to all: they held back for it', () => {
  household.ended(true, 1)
  expect(nudged).toEqual(['mine', 'theirs'])
})

test('a worker that leaves, or finds its suspect taken, holds nobody back', () => {
  household.suspectsWaiting(mine, true)
  household.leave(mine)
  expect(household.mayClaim(theirs)).toBe(true)
  expect(nudged).toContain('theirs')
})

test.each([
  ['started at once', 10, 3_000],
  ['took a second to start', 1_000, 19_000],
  ['is old', 3_600_000, 60_000],
])(
  'a process that %s prefers other work to suspects for a while: one may have taken its predecessor down',
  (_, ageMs, whileMs) => {
    const fresh = new Household(clock)
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
  expect(household.isTimeForSuspects).toBe(true)
  household.suspectsWaiting(mine, true)
  clock.advance(200)
  household.suspectsWaiting(mine, false)
  clock.advance(300)
  household.ended(true, 300)
  clock.advance(9_499)
  expect(household.isTimeForSuspects).toBe(false)
  clock.advance(1)
  expect(household.isTimeForSuspects).toBe(true)
  household.ended(true, 10)
  clock.advance(190)
  expect(household.isTimeForSuspects).toBe(true)
})

test('a suspect that took long keeps the next one waiting for a minute at most', () => {
  clock.advance(60_000)
  household.ended(true, 600_000)
  clock.advance(59_999)
  expect(household.isTimeForSuspects).toBe(false)
  clock.advance(1)
  expect(household.isTimeForSuspects).toBe(true)
})
