import { monitorEventLoopDelay } from 'node:perf_hooks'
import { expect, test } from 'vitest'
import { Turns } from '../../src/http/turns.ts'
import { openServer, plain } from './server.ts'

test('a few are answered at a time, in the order they came', async () => {
  const turns = new Turns()
  let running = 0
  let most = 0
  const order: number[] = []
  const work = (n: number) =>
    turns.take(async () => {
      most = Math.max(most, ++running)
      await new Promise(setImmediate)
      running -= 1
      order.push(n)
    })
  await Promise.all(Array.from({ length: 100 }, (_, n) => work(n)))
  expect(most).toBeLessThanOrEqual(8)
  expect(order).toEqual(order.toSorted((a, b) => a - b))
})

test('beyond some hundred that wait, whoever comes is told to come later', async () => {
  const turns = new Turns()
  const end = Promise.withResolvers<void>()
  const waiting = Array.from({ length: 8 + 256 }, () => turns.take(() => end.promise))
  await expect(turns.take(async () => {})).rejects.toMatchObject({ code: 'TOO_BUSY' })
  end.resolve()
  await Promise.all(waiting)
  await turns.take(async () => {})
})

test('a failure gives its turn on', async () => {
  const turns = new Turns()
  for (let n = 0; n < 20; n++)
    await expect(turns.take(() => Promise.reject(new Error('no')))).rejects.toThrow('no')
})

test('while many ask for pages, the thread still has time for others', async () => {
  const { gleaner, call } = await openServer()
  await gleaner.enqueueMany(plain, Array(2_000).fill(undefined))
  await call('/api/v1/tasks?limit=200')
  const delay = monitorEventLoopDelay({ resolution: 5 })
  delay.enable()
  await Promise.all(Array.from({ length: 150 }, () => call('/api/v1/tasks?limit=200')))
  delay.disable()
  // The client of this test works on the same thread: its parsing is in it.
  expect(delay.percentile(50) / 1e6).toBeLessThan(100)
})
