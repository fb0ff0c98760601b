import { describe, expect } from 'vitest'
import { z } from 'zod'
import { defineTask, RetryLater } from '../../src/index.ts'
import { stopwatch, test } from './open-test.ts'

const MINUTE_MS = 60_000
const DAY_MS = 86_400_000

/** Writes down when it ran. */
function recorder() {
  const ran: (readonly [string, number])[] = []
  let elapsedMs = () => 0
  const note = defineTask({
    name: 'note',
    input: z.string(),
    run: async (text) => {
      ran.push([text, elapsedMs()])
    },
  })
  return { note, ran, follow: (watch: () => number) => (elapsedMs = watch) }
}

describe('a delayed task', () => {
  test('runs after its delay, and not a millisecond before', async ({ open }) => {
    const { note, ran, follow } = recorder()
    const t = await open({ tasks: [note] })
    follow(stopwatch(t))
    await t.enqueue(note, 'later', { runAfter: '1h' })
    await t.runUntilIdle()
    await t.advance(60 * MINUTE_MS - 1)
    expect(ran).toEqual([])
    expect((await t.enqueued(note)).map(({ status }) => status)).toEqual(['scheduled'])
    await t.advance(1)
    expect(ran).toEqual([['later', 60 * MINUTE_MS]])
  })

  test('runs at its date', async ({ open }) => {
    const { note, ran, follow } = recorder()
    const t = await open({ tasks: [note], now: new Date('2031-03-01T00:00:00Z') })
    follow(t.now)
    const date = new Date('2031-03-01T03:00:00Z')
    await t.enqueue(note, 'dated', { runAfter: date })
    await t.advance('1d')
    expect(ran).toEqual([['dated', date.getTime()]])
  })

  test('runs at its own time, and in order, when time moves past several', async ({ open }) => {
    const { note, ran, follow } = recorder()
    const t = await open({ tasks: [note] })
    follow(stopwatch(t))
    await t.enqueue(note, 'third', { runAfter: '3h' })
    await t.enqueue(note, 'first', { runAfter: '1h' })
    await t.enqueue(note, 'second', { runAfter: '2h' })
    await t.enqueue(note, 'now')
    await t.advance('1d')
    expect(ran).toEqual([
      ['now', 0],
      ['first', 60 * MINUTE_MS],
      ['second', 120 * MINUTE_MS],
      ['third', 180 * MINUTE_MS],
    ])
    expect(t.now()).toBe(Date.UTC(2030, 0, 2))
  })
})

describe('a failing task', () => {
  test('is tried again exactly when its backoff says, without jitter', async ({ open }) => {
    const tried: number[] = []
    let elapsedMs = () => 0
    const failing = defineTask({
      name: 'failing',
      retry: { attempts: 4, base: '5m', max: '1d' },
      run: async () => {
        tried.push(elapsedMs())
        throw new Error('no')
      },
    })
    const t = await open({ tasks: [failing] })
    elapsedMs = stopwatch(t)
    const { id } = await t.enqueue(failing)
    await t.runUntilIdle()
    expect(tried).toEqual([0])
    await t.advance('1h')
    expect(tried).toEqual([0, 5 * MINUTE_MS, 15 * MINUTE_MS, 35 * MINUTE_MS])
    expect(await t.failed(failing)).toMatchObject([{ id, attempts: 4, error: { message: 'Error: no' } }])
  })

  test('that asks for another time gets it', async ({ open }) => {
    const tried: number[] = []
    let elapsedMs = () => 0
    const busy = defineTask({
      name: 'busy',
      run: async () => {
        tried.push(elapsedMs())
        if (tried.length < 3) throw new RetryLater('30m')
      },
    })
    const t = await open({ tasks: [busy] })
    elapsedMs = stopwatch(t)
    await t.enqueue(busy)
    await t.advance('1h')
    expect(tried).toEqual([0, 30 * MINUTE_MS, 60 * MINUTE_MS])
    expect(await t.completed(busy)).toMatchObject([{ attempts: 1 }])
  })
})

describe('a handler that sleeps in the time of the engine', () => {
  test('is timed out, tried again, and failed at last', async ({ open }) => {
    const reasons: unknown[] = []
    const slow = defineTask({
      name: 'slow',
      timeout: '30s',
      retry: { attempts: 2, backoff: 'fixed', base: '10s' },
      run: async (_, ctx) => {
        await t.sleep('1h', { signal: ctx.signal }).catch((error) => {
          reasons.push([stopped(), error.code])
          throw error
        })
      },
    })
    const t = await open({ tasks: [slow] })
    const stopped = stopwatch(t)
    await t.enqueue(slow)
    await t.advance(29_999)
    expect(reasons).toEqual([])
    await t.advance('1h')
    expect(reasons).toEqual([
      [30_000, 'TIMEOUT'],
      [70_000, 'TIMEOUT'],
    ])
    expect(await t.failed(slow)).toMatchObject([{ attempts: 2, error: { kind: 'timeout' } }])
  })

  test('and ignores its signal is given up after the grace', async ({ open }) => {
    const deaf = defineTask({
      name: 'deaf',
      timeout: '30s',
      retry: { attempts: 1 },
      run: () => t.sleep('1h'),
    })
    const t = await open({ tasks: [deaf], timings: { grace: '5s' } })
    await t.enqueue(deaf)
    await t.advance(34_999)
    expect(await t.failed()).toEqual([])
    await t.advance(1)
    expect(await t.failed()).toMatchObject([{ name: 'deaf', error: { kind: 'timeout' } }])
  })

  test('takes as long as it says, and its hand is taken meanwhile', async ({ open }) => {
    const done: number[] = []
    const steady = defineTask({
      name: 'steady',
      run: async () => {
        await t.sleep('10s')
        done.push(elapsedMs())
      },
    })
    const t = await open({ tasks: [steady] })
    const elapsedMs = stopwatch(t)
    t.work({ concurrency: 2 })
    for (let n = 0; n < 5; n++) await t.enqueue(steady)
    await t.runUntilIdle()
    expect(await t.tasks.counts()).toMatchObject({ running: 2, queued: 3 })
    await t.advance('1m')
    expect(done).toEqual([10_000, 10_000, 20_000, 20_000, 30_000])
  })

  test('is cancelled at once', async ({ open }) => {
    const slow = defineTask({ name: 'slow', run: (_, ctx) => t.sleep('1h', { signal: ctx.signal }) })
    const t = await open({ tasks: [slow] })
    const handle = await t.enqueue(slow)
    await t.runUntilIdle()
    await handle.cancel()
    await t.runUntilIdle()
    await expect(handle.result()).rejects.toMatchObject({ code: 'TASK_CANCELLED' })
  })

  test('whose signal has aborted does not begin to', async ({ open }) => {
    const t = await open()
    const signal = AbortSignal.abort(new Error('over'))
    await expect(t.sleep('1h', { signal })).rejects.toThrow('over')
  })
})

describe('time', () => {
  test('stands still by itself, for what waits for a result as well', async ({ open }) => {
    const { note } = recorder()
    const t = await open({ tasks: [note] })
    const handle = await t.enqueue(note, 'x', { runAfter: '2m' })
    const waited = handle.result({ timeout: '1m' }).catch((error) => error.code)
    await t.runUntilIdle()
    expect(await Promise.race([waited, 'still waiting'])).toBe('still waiting')
    await t.advance('1m')
    expect(await waited).toBe('WAIT_TIMEOUT')
  })

  test('passes by a thousand days in little more than a thousand tasks take, with one on each of them', async ({
    open,
  }) => {
    // One after the other; each waits for nothing, or for a day.
    const chain = async (days: number) => {
      const link = defineTask({
        name: 'link',
        input: z.number(),
        run: async (left, ctx): Promise<void> => {
          if (left > 0) await ctx.enqueue(link, left - 1, { runAfter: `${days}d` })
        },
      })
      const t = await open({ tasks: [link] })
      const first = await t.enqueue(link, 999)
      const never = await t.enqueue(link, 0, { runAfter: '3000d' })
      const waits = never.result()
      const begunMs = performance.now()
      await t.advance(`${999 * days}d`)
      await t.runUntilIdle()
      const tookMs = performance.now() - begunMs
      expect(await t.completed(link)).toHaveLength(1_000)
      expect((await t.tasks.list({ status: 'completed', limit: 1 })).items[0]!.finishedAt).toBe(t.now())
      expect((await t.tasks.get(first.id))!.finishedAt).toBe(t.now() - 999 * days * DAY_MS)
      await Promise.all([expect(waits).rejects.toMatchObject({ code: 'CLOSED' }), t.close()])
      return tookMs
    }
    // Time that really passed would make it a million times as long.
    expect(await chain(1)).toBeLessThan(10 * (await chain(0)))
  })

  test('stops for what somebody enqueues who waited for it', async ({ open }) => {
    const { note, ran, follow } = recorder()
    const t = await open({ tasks: [note] })
    follow(stopwatch(t))
    const handle = await t.enqueue(note, 'late', { runAfter: '1h' })
    void t.sleep('1m').then(async () => {
      // Something that takes its time without waiting for any: as long as nothing else is heard, time stands still.
      for (let steps = 0; steps < 100; steps++) await null
      await t.enqueue(note, 'after a minute')
    })
    void handle.result({ timeout: '2m' }).catch(() => t.enqueue(note, 'after two'))
    void handle.result().then(() => t.enqueue(note, 'after that'))
    await t.advance('1d')
    expect(ran).toEqual([
      ['after a minute', MINUTE_MS],
      ['after two', 2 * MINUTE_MS],
      ['late', 60 * MINUTE_MS],
      ['after that', 60 * MINUTE_MS],
    ])
  })

  test('moves for one call after the other', async ({ open }) => {
    const { note, ran, follow } = recorder()
    const t = await open({ tasks: [note] })
    const elapsedMs = stopwatch(t)
    follow(elapsedMs)
    await t.enqueue(note, 'later', { runAfter: '90m' })
    await Promise.all([t.advance('1h'), t.advance('1h'), t.runUntilIdle()])
    expect(ran).toEqual([['later', 90 * MINUTE_MS]])
    expect(elapsedMs()).toBe(120 * MINUTE_MS)
  })

  test('cannot be moved by what is no duration', async ({ open }) => {
    const t = await open()
    await expect(t.advance('soon' as '1s')).rejects.toMatchObject({ code: 'BAD_DURATION' })
    await expect(t.advance(-1)).rejects.toMatchObject({ code: 'BAD_DURATION' })
  })
})

test('what recurs follows the time of the test', async ({ open }) => {
  const minutes: number[] = []
  let elapsedMs = () => 0
  const feed = defineTask({
    name: 'feed',
    every: '10m',
    run: () => {
      minutes.push(elapsedMs() / MINUTE_MS)
    },
  })
  const t = await open({ tasks: [feed] })
  elapsedMs = stopwatch(t)
  await t.runUntilIdle()
  expect(minutes).toEqual([])
  await t.advance('1h')
  expect(minutes).toEqual([10, 20, 30, 40, 50, 60])
})
