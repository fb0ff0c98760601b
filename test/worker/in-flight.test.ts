import { expect, test } from 'vitest'
import type { Claim } from '../../src/store/contract.ts'
import { ManualClock } from '../../src/testing/manual-clock.ts'
import { InFlight } from '../../src/worker/in-flight.ts'
import type { InFlightOptions } from '../../src/worker/services.ts'
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
  const inFlight = new InFlight({ clock } as Partial<InFlightOptions> as InFlightOptions)
  clock.advance(100)
  inFlight.take([AHEAD], SOURCE)
  clock.advance(40)
  inFlight.take([], SOURCE)
  expect(inFlight.ahead).toBe(1)
  expect(inFlight.line.sinceMs).toBe(100)
})

test('items that are claimed later make those that wait no younger', () => {
  const clock = new ManualClock()
  const inFlight = new InFlight({ clock } as Partial<InFlightOptions> as InFlightOptions)
  clock.advance(100)
  inFlight.take([AHEAD], SOURCE)
  clock.advance(40)
  inFlight.take([{ ...AHEAD, id: '2' }], SOURCE)
  expect(inFlight.ahead).toBe(2)
  expect(inFlight.line.sinceMs).toBe(100)
  inFlight.lose('1')
  expect(inFlight.line.sinceMs).toBe(140)
})
