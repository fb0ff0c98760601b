import { beforeEach, expect, test } from 'vitest'
import { ManualClock } from '../../src/testing/manual-clock.ts'
import { Hands } from '../../src/worker/hands.ts'
import { Household } from '../../src/worker/household.ts'
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
  household.ended(false)
  expect(nudged).toEqual([])
  household.suspectsWaiting(mine, true)
  household.ended(false)
  expect(nudged).toEqual(['mine', 'theirs'])
})

test('the end of a suspect is told to all: they held back for it', () => {
  household.ended(true)
  expect(nudged).toEqual(['mine', 'theirs'])
})

test('a worker that leaves, or finds its suspect taken, holds nobody back', () => {
  household.suspectsWaiting(mine, true)
  household.leave(mine)
  expect(household.mayClaim(theirs)).toBe(true)
  expect(nudged).toContain('theirs')
})

test('a new process prefers other work to suspects for a while: one may have taken its predecessor down', () => {
  clock.advance(10_000)
  const fresh = new Household(clock)
  fresh.join(mine, () => {})
  expect(fresh.isTimeForSuspects).toBe(false)
  clock.advance(2_999)
  fresh.join(theirs, () => {})
  expect(fresh.isTimeForSuspects).toBe(false)
  clock.advance(1)
  expect(fresh.isTimeForSuspects).toBe(true)
})
