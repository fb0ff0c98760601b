import { expect, test } from 'vitest'
import { PrefetchPolicy } from '../../src/worker/prefetch/policy.ts'

const shortItems = () => {
  const policy = new PrefetchPolicy(true)
  policy.ran(0.1, 1)
  return policy
}

test('a worker that gave items back unstarted prefetches fewer, and more again while claims bring all it asks for', () => {
  const policy = shortItems()
  const before = policy.amount(4)
  policy.returned()
  const after = policy.amount(4)
  expect(after).toBeLessThan(before)
  policy.claimed(3, { start: 4, ahead: 10 }, true)
  expect(policy.amount(4)).toBe(after)
  for (let claims = 0; claims < 20; claims++) policy.claimed(4 + 10, { start: 4, ahead: 10 }, true)
  expect(policy.amount(4)).toBe(before)
})

test('however often items went back, a worker asks for one ahead', () => {
  const policy = shortItems()
  for (let times = 0; times < 20; times++) policy.returned()
  expect(policy.amount(4)).toBe(1)
})

test('a worker holds 20 ms of work ahead of a store that works elsewhere, and 10 ms otherwise', () => {
  const amountOf = (isRemote: boolean) => {
    const policy = new PrefetchPolicy(isRemote)
    for (let n = 0; n < 200; n++) policy.ran(10, n)
    return policy.amount(10)
  }
  expect([amountOf(true), amountOf(false)]).toEqual([20, 10])
})

test('starts of short runs wait, because their ends are near, and starts of long ones do not', () => {
  const policy = new PrefetchPolicy(true)
  expect(policy.startsWaitMs).toBe(0)
  policy.ran(10, 0)
  expect(policy.startsWaitMs).toBe(20)
  for (let runs = 0; runs < 10; runs++) policy.ran(100, 100)
  expect(policy.startsWaitMs).toBe(0)
})

test('handlers that never wait end one after the other, and the worker holds what it can start in time', () => {
  const policy = new PrefetchPolicy(true)
  for (let n = 0; n < 30; n++) policy.ran(1, n)
  expect(policy.amount(20)).toBe(20)
})
