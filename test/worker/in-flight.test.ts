import { expect, test } from 'vitest'
import type { Claim } from '../../src/store/ports/exchange.ts'
import { ManualClock } from '../../src/testing/manual-clock.ts'
import type { Source } from '../../src/worker/attempt/source.ts'
import { Executor } from '../../src/worker/executor.ts'
import { InFlight, type InFlightOptions } from '../../src/worker/in-flight.ts'
import type { WorkerParts } from '../../src/worker/worker-parts.ts'

const PREFETCHED: Claim = {
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

/** Nothing of it starts here. */
const SOURCE = {} as Source

/** A worker whose only slot is taken, so that it starts nothing. */
function busyWorker() {
  const clock = new ManualClock()
  const inFlight = new InFlight({ clock } as Partial<InFlightOptions> as InFlightOptions)
  const parts = { options: { concurrency: 0 }, services: { clock, store: { remote: false } }, inFlight }
  return { clock, inFlight, executor: new Executor(parts as unknown as WorkerParts) }
}

test('an exchange that brings nothing makes prefetched items no younger', () => {
  const { clock, inFlight, executor } = busyWorker()
  clock.advance(100)
  executor.start([PREFETCHED], SOURCE)
  clock.advance(40)
  executor.start([], SOURCE)
  expect(inFlight.prefetched.size).toBe(1)
  expect(inFlight.prefetched.sinceMs).toBe(100)
})

test('items that are claimed later make those that wait no younger', () => {
  const { clock, inFlight, executor } = busyWorker()
  clock.advance(100)
  executor.start([PREFETCHED], SOURCE)
  clock.advance(40)
  executor.start([{ ...PREFETCHED, id: '2' }], SOURCE)
  expect(inFlight.prefetched.size).toBe(2)
  expect(inFlight.prefetched.sinceMs).toBe(100)
  inFlight.lose('1')
  expect(inFlight.prefetched.sinceMs).toBe(140)
})
