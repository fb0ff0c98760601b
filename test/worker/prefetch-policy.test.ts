import { expect, test } from 'vitest'
import { PrefetchPolicy } from '../../src/worker/prefetch/policy.ts'

const TIMINGS = { idleMinMs: 1, idleMaxMs: 1, pollMs: 1 }

const shortItems = () => {
  const pace = new PrefetchPolicy(TIMINGS, true)
  pace.ran(0.1, 1)
  return pace
}

test('a worker that gave items back unstarted holds fewer ahead, and more again while claims bring all it asks for', () => {
  const pace = shortItems()
  const before = pace.aheadFor(4)
  pace.gaveBack()
  const after = pace.aheadFor(4)
  expect(after).toBeLessThan(before)
  pace.got(3, { start: 4, ahead: 10 }, true)
  expect(pace.aheadFor(4)).toBe(after)
  for (let claims = 0; claims < 20; claims++) pace.got(4 + 10, { start: 4, ahead: 10 }, true)
  expect(pace.aheadFor(4)).toBe(before)
})

test('however often items went back, a worker asks for one ahead', () => {
  const pace = shortItems()
  for (let times = 0; times < 20; times++) pace.gaveBack()
  expect(pace.aheadFor(4)).toBe(1)
})

test('a worker holds 20 ms of work ahead of a store that works elsewhere, and 10 ms otherwise', () => {
  const aheadOf = (isRemote: boolean) => {
    const pace = new PrefetchPolicy(TIMINGS, isRemote)
    for (let n = 0; n < 200; n++) pace.ran(10, n)
    return pace.aheadFor(10)
  }
  expect([aheadOf(true), aheadOf(false)]).toEqual([20, 10])
})

test('starts of short runs wait, because their ends are near, and starts of long ones do not', () => {
  const pace = new PrefetchPolicy(TIMINGS, true)
  expect(pace.startsWaitMs).toBe(0)
  pace.ran(10, 0)
  expect(pace.startsWaitMs).toBe(20)
  for (let runs = 0; runs < 10; runs++) pace.ran(100, 100)
  expect(pace.startsWaitMs).toBe(0)
})

test('handlers that never wait end one after the other, and the worker holds what it can start in time', () => {
  const pace = new PrefetchPolicy(TIMINGS, true)
  for (let n = 0; n < 30; n++) pace.ran(1, n)
  expect(pace.aheadFor(20)).toBe(20)
})
