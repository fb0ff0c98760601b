import { describe, expect, onTestFinished, vi } from 'vitest'
import { z } from 'zod'
import { defineTask, type Gleaner, TaskCancelled } from '../../../src/index.ts'
import type { Sql } from '../../../src/store/postgres/server/sql.ts'
import { Wakeups } from '../../../src/store/postgres/server/wakeups.ts'
import { counts } from '../../conformance/world.ts'
import { type EngineOptions, type Place, testMigrated as test } from './place.ts'

/** Nobody would look by himself as long as these tests last. */
const ASLEEP = { idleMin: '5m', idleMax: '5m' } as const
const SOON = { timeout: '30s' } as const

const greet = defineTask({ name: 'greet', input: z.string(), run: (name) => `hello ${name}` })

/** An engine with a worker that has looked, found nothing, and rests. */
async function idleWorker(place: Place, options: EngineOptions = {}): Promise<Gleaner> {
  const engine = await place.open({ tasks: [greet], timings: ASLEEP, ...options })
  await engine.work().drained()
  return engine
}

describe('a notification', () => {
  test('wakes an idle worker of another engine, and brings the result back', async ({ place }) => {
    await idleWorker(place)
    const producer = await place.open({ tasks: [greet] })
    for (const name of ['a', 'b', 'c']) {
      expect(await (await producer.enqueue(greet, name)).result(SOON)).toBe(`hello ${name}`)
    }
  })

  test("wakes it when a user's own transaction commits, and not before", async ({ place }) => {
    const worker = await idleWorker(place)
    const client = await place.client()
    await client.query('BEGIN')
    const handle = await worker.within(client).enqueue(greet, 'you')
    expect(await worker.tasks.counts()).toEqual(counts({}))
    await client.query('COMMIT')
    expect(await handle.result(SOON)).toBe('hello you')
  })

  test('is sent before a store that has just written something is closed', async ({ place }) => {
    const sent: unknown[] = []
    const run = async (_text: string, values: unknown[]) => sent.push(values[1])
    const sql = { schema: place.schema, run } as unknown as Sql
    const wakeups = new Wakeups({ url: place.url }, sql, () => {})
    // The first is announced at once, what follows a few milliseconds later.
    wakeups.announce('work')
    wakeups.announce('ended')
    await wakeups.close()
    expect(sent).toEqual([expect.stringMatching(/^\S+ work$/), expect.stringMatching(/^\S+ ended$/)])
  })

  test('is one for many: there is at most one every few milliseconds, however many enqueue', async ({
    place,
  }) => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] })
    onTestFinished(() => void vi.useRealTimers())
    const sent: unknown[] = []
    const run = async (_text: string, values: unknown[]) => sent.push(values[1])
    const wakeups = new Wakeups({ url: place.url }, { schema: place.schema, run } as unknown as Sql, () => {})
    const announceMany = () => {
      for (let n = 0; n < 100; n++) wakeups.announce('work')
    }
    announceMany()
    expect(sent).toHaveLength(1)
    vi.advanceTimersByTime(4)
    announceMany()
    expect(sent).toHaveLength(1)
    vi.advanceTimersByTime(1)
    expect(sent).toHaveLength(2)
    vi.advanceTimersByTime(100)
    expect(sent).toHaveLength(2)
    await wakeups.close()
  })

  test('of ends comes less often than one of work, which takes it along', async ({ place }) => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] })
    onTestFinished(() => void vi.useRealTimers())
    const sent: string[] = []
    const run = async (_text: string, values: string[]) => sent.push(values[1]!.replace(/^\S+ /, ''))
    const wakeups = new Wakeups({ url: place.url }, { schema: place.schema, run } as unknown as Sql, () => {})
    wakeups.announce('ended')
    wakeups.announce('ended')
    vi.advanceTimersByTime(24)
    expect(sent).toEqual(['ended'])
    vi.advanceTimersByTime(1)
    expect(sent).toEqual(['ended', 'ended'])
    wakeups.announce('ended')
    wakeups.announce('work')
    wakeups.announce('ended')
    vi.advanceTimersByTime(5)
    expect(sent).toEqual(['ended', 'ended', 'ended work'])
    vi.advanceTimersByTime(100)
    expect(sent).toHaveLength(3)
    await wakeups.close()
  })

  test('of a cancel reaches a running task of another engine', async ({ place }) => {
    const started = Promise.withResolvers<void>()
    const wait = defineTask({
      name: 'wait',
      run: (_: undefined, ctx) =>
        new Promise((_resolve, reject) => {
          ctx.signal.addEventListener('abort', () => reject(ctx.signal.reason))
          started.resolve()
        }),
    })
    const runner = await place.open({ tasks: [wait], timings: ASLEEP })
    runner.work()
    const other = await place.open({ tasks: [wait] })
    const handle = await other.enqueue(wait)
    await started.promise
    await handle.cancel()
    await expect(handle.result(SOON)).rejects.toBeInstanceOf(TaskCancelled)
  })

  test('of a schema is not heard in another', async ({ place }) => {
    const ear = await place.client()
    const heard: unknown[] = []
    ear.on('notification', (message) => heard.push(message))
    await ear.query('LISTEN gleaner')
    const producer = await place.open({ tasks: [greet] })
    await producer.enqueue(greet, 'you')
    await producer.close()
    await ear.query('SELECT 1')
    expect(heard).toEqual([])
  })
})

describe('a connection that listens and breaks', () => {
  test('subscribes again, and finds what was enqueued while it was deaf', async ({ place }) => {
    await idleWorker(place, { postgres: { notify: true } })
    const producer = await place.open({ tasks: [greet], postgres: { notify: false } })
    const [deaf] = await place.listeners()
    await place.rows('SELECT pg_terminate_backend($1)', [deaf])
    const handle = await producer.enqueue(greet, 'nobody')
    // Never notified: only the look after the new subscription can have found it.
    expect(await handle.result(SOON)).toBe('hello nobody')
    expect(await place.listeners()).toHaveLength(1)
  })

  test('hears again what is said afterwards, however often it breaks', async ({ place }) => {
    const worker = await idleWorker(place)
    const before = await place.listeners()
    for (let round = 0; round < 2; round++) {
      const known = await place.listeners()
      for (const pid of known) await place.rows('SELECT pg_terminate_backend($1)', [pid])
      await place.until('a new subscription', async () => {
        const now = await place.listeners()
        return now.length === 1 && !known.includes(now[0]!)
      })
    }
    expect(before).toHaveLength(1)
    // Subscribed again, it looks once. From then on only a notification can wake it.
    await worker.handle(greet, (await worker.enqueue(greet, 'itself')).id).result(SOON)
    const producer = await place.open({ tasks: [greet] })
    expect(await (await producer.enqueue(greet, 'again')).result(SOON)).toBe('hello again')
    await worker.close()
    await producer.close()
    expect(await place.listeners()).toEqual([])
  })
})

describe('without notifications', () => {
  const WATCHFUL = { idleMin: '20ms', idleMax: '50ms' } as const

  test('notify: false neither listens nor notifies, and all work is done', async ({ place }) => {
    const ear = await place.client()
    const heard: unknown[] = []
    ear.on('notification', (message) => heard.push(message))
    const options = { timings: WATCHFUL, postgres: { notify: false } }
    await idleWorker(place, options)
    await ear.query(`LISTEN ${place.schema}`)
    const producer = await place.open({ tasks: [greet], ...options })
    const client = await place.client()
    await client.query('BEGIN')
    const inside = await producer.within(client).enqueue(greet, 'inside')
    await client.query('COMMIT')
    const handles = await producer.enqueueMany(greet, ['a', 'b', 'c'])
    const results = await Promise.all([inside, ...handles].map((handle) => handle.result(SOON)))
    expect(results).toEqual(['hello inside', 'hello a', 'hello b', 'hello c'])
    await ear.query('SELECT 1')
    expect(heard).toEqual([])
    expect(await place.listeners()).toEqual([])
  })

  test('every notification dropped on its way costs latency only', async ({ place }) => {
    const proxy = await place.proxy()
    proxy.notifications.drop = true
    const blocking = defineTask({
      name: 'block',
      run: (_: undefined, ctx) =>
        new Promise((_resolve, reject) =>
          ctx.signal.addEventListener('abort', () => reject(ctx.signal.reason)),
        ),
    })
    const tasks = [greet, blocking]
    const worker = await idleWorker(place, { database: proxy.url, tasks, timings: WATCHFUL })
    const producer = await place.open({ database: proxy.url, tasks })
    const started = Promise.withResolvers<void>()
    worker.on('started', ({ name }) => name === 'block' && started.resolve())

    const running = await producer.enqueue(blocking)
    await started.promise
    const delayed = await producer.enqueue(greet, 'later', { runAfter: '100ms' })
    const handles = await producer.enqueueMany(
      greet,
      Array.from({ length: 50 }, (_, n) => `${n}`),
    )
    await running.cancel()
    await expect(running.result(SOON)).rejects.toBeInstanceOf(TaskCancelled)
    const results = await Promise.all([delayed, ...handles].map((handle) => handle.result(SOON)))
    expect(new Set(results).size).toBe(51)
    expect(await producer.tasks.counts()).toEqual(counts({ completed: 51, cancelled: 1 }))
    expect(proxy.notifications.dropped).toBeGreaterThan(0)
  })
})
