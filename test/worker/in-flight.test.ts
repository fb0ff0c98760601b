import { expect, test } from 'vitest'
import type { Claim } from '../../src/store/contract.ts'
import { ManualClock } from '../../src/testing/manual-clock.ts'
import { Hands } from '../../src/worker/in-flight.ts'
import type { HandsOptions } from '../../src/worker/services.ts'
import type { Source } from '../../src/worker/sources/source.ts'

const AHEAD: Claim = {
  id: '1',
  fence: 1,
  name: 'task',
  queue: 'default',
  input: null,
  attempt: 1,
  maxAttempts: 3,
  overrides: null,
  key: null,
  createdAt: 0,
  started: false,
  suspect: false,
}

/** Nothing of it is begun here. */
const SOURCE = {} as Source

test('an exchange that brings nothing makes items held ahead no younger', () => {
  const clock = new ManualClock()
  // Nothing is run here: only what is held counts.
  const hands = new Hands({ clock } as Partial<HandsOptions> as HandsOptions)
  clock.advance(100)
  hands.take([AHEAD], SOURCE)
  clock.advance(40)
  hands.take([], SOURCE)
  expect(hands.ahead).toBe(1)
  expect(hands.line.sinceMs).toBe(100)
})

test('items that are claimed later make those that wait no younger', () => {
  const clock = new ManualClock()
  const hands = new Hands({ clock } as Partial<HandsOptions> as HandsOptions)
  clock.advance(100)
  hands.take([AHEAD], SOURCE)
  clock.advance(40)
  hands.take([{ ...AHEAD, id: '2' }], SOURCE)
  expect(hands.ahead).toBe(2)
  expect(hands.line.sinceMs).toBe(100)
  hands.lose('1')
  expect(hands.line.sinceMs).toBe(140)
})
