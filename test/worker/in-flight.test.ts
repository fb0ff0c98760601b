import { expect, test } from 'vitest'
import type { Claim } from '../../src/store/ports/exchange.ts'
import { ManualClock } from '../../src/testing/manual-clock.ts'
import type { Item, Source } from '../../src/worker/attempt/source.ts'
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

/** It starts what it gets. */
function idleWorker(concurrency: number) {
  const clock = new ManualClock()
  const inFlight = new InFlight({ clock } as Partial<InFlightOptions> as InFlightOptions)
  inFlight.add = () => {}
  const prefetch = { returned() {} }
  const services = { clock, store: { remote: false }, emitter: { hears: () => false } }
  const parts = { options: { concurrency }, services, inFlight, prefetch, polling: { nudge() {} } }
  return { clock, executor: new Executor(parts as unknown as WorkerParts) }
}

test('an exchange that brings nothing makes prefetched items no younger', () => {
  const { clock, inFlight, executor } = busyWorker()
  clock.advance(100)
  executor.start([PREFETCHED], SOURCE, 0)
  clock.advance(40)
  executor.start([], SOURCE, 0)
  expect(inFlight.prefetched.size).toBe(1)
  expect(inFlight.prefetched.sinceMs).toBe(100)
})

test('items that are claimed later make those that wait no younger', () => {
  const { clock, inFlight, executor } = busyWorker()
  clock.advance(100)
  executor.start([PREFETCHED], SOURCE, 0)
  clock.advance(40)
  executor.start([{ ...PREFETCHED, id: '2' }], SOURCE, 0)
  expect(inFlight.prefetched.size).toBe(2)
  expect(inFlight.prefetched.sinceMs).toBe(100)
  inFlight.lose('1')
  expect(inFlight.prefetched.sinceMs).toBe(140)
})

test('what a rate has counted starts in time, or goes back with all that was claimed with it', () => {
  const outbox: string[] = []
  const started: string[] = []
  const source = {
    outbox: { returned: ({ id }: Item) => outbox.push(id) },
    begin: ({ id }: Item) => ({ run: async () => started.push(id) }),
  } as unknown as Source
  for (const [askedMs, lateMs, expected] of [
    [0, 100, { started: ['1', '2'], outbox: [] }],
    [0, 101, { started: [], outbox: ['1', '2'] }],
    [50, 101, { started: ['1', '2'], outbox: [] }],
  ] as const) {
    outbox.length = 0
    started.length = 0
    const { clock, executor } = idleWorker(2)
    clock.advance(lateMs)
    const items = ['1', '2'].map((id) => ({ ...PREFETCHED, id, startWithinMs: 100 }))
    executor.start(items, source, askedMs)
    expect({ started, outbox }).toEqual(expected)
  }
})
