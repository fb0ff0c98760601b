import { describe, expect } from 'vitest'
import { defineTask, TaskFailed, TimeoutError } from '../../src/index.ts'
import { deferred } from './deferred.ts'
import { test } from './place.ts'

describe.concurrent('a time-out', () => {
  test('aborts the handler, and fails the attempt when it ends', async ({ place }) => {
    const task = defineTask({
      name: 'task',
      timeout: '20ms',
      retry: { attempts: 1 },
      run: (_, ctx) =>
        new Promise((_resolve, reject) =>
          ctx.signal.addEventListener('abort', () => reject(ctx.signal.reason)),
        ),
    })
    const gleaner = await place.open({ tasks: [task], timings: { grace: '1h' } })
    const handle = await gleaner.enqueue(task)
    gleaner.work()
    await expect(handle.result()).rejects.toSatisfy(
      (error) => error instanceof TaskFailed && error.kind === 'timeout',
    )
    expect(await gleaner.tasks.get(handle.id)).toMatchObject({
      status: 'failed',
      error: { kind: 'timeout', message: expect.stringContaining('20 ms') },
    })
  })

  test('does not wait for a handler that ignores it: after the grace the task has failed, the slot is still taken', async ({
    place,
  }) => {
    const release = deferred()
    const aborted = deferred<unknown>()
    const order: string[] = []
    const task = defineTask({
      name: 'task',
      timeout: '20ms',
      retry: { attempts: 1 },
      run: async (_, ctx) => {
        ctx.signal.addEventListener('abort', () => aborted.resolve(ctx.signal.reason))
        await release.promise
        order.push('the handler returned')
      },
    })
    const next = defineTask({
      name: 'next',
      run: async () => {
        order.push('the next one started')
      },
    })
    const gleaner = await place.open({ tasks: [task, next], timings: { grace: '20ms' } })
    const first = await gleaner.enqueue(task)
    const second = await gleaner.enqueue(next)
    const worker = gleaner.work({ concurrency: 1 })
    expect(await aborted.promise).toBeInstanceOf(TimeoutError)
    await expect(first.result({ timeout: '20s' })).rejects.toMatchObject({ kind: 'timeout' })
    expect(await gleaner.tasks.get(second.id)).toMatchObject({ status: 'queued' })
    release.resolve()
    await second.result()
    expect(order).toEqual(['the handler returned', 'the next one started'])
    // What it returned came too late.
    expect(await gleaner.tasks.get(first.id)).toMatchObject({ status: 'failed', error: { kind: 'timeout' } })
    await worker.stop()
  })

  test('leaves a handler the grace to end by itself', async ({ place }) => {
    const task = defineTask({
      name: 'task',
      timeout: '20ms',
      retry: { attempts: 1 },
      run: async (_, ctx) => {
        await new Promise((resolve) => ctx.signal.addEventListener('abort', resolve))
        return 'saved what I had'
      },
    })
    const gleaner = await place.open({ tasks: [task], timings: { grace: '1h' } })
    const handle = await gleaner.enqueue(task)
    gleaner.work()
    expect(await handle.result()).toBe('saved what I had')
  })

  test('is a failure like others: the task is tried again', async ({ place }) => {
    const task = defineTask({
      name: 'task',
      timeout: '20ms',
      retry: { attempts: 3, backoff: 'fixed', base: 1 },
      run: async (_, ctx) => {
        if (ctx.attempt < 3)
          await new Promise((_resolve, reject) => ctx.signal.addEventListener('abort', reject))
        return ctx.attempt
      },
    })
    const gleaner = await place.open({ tasks: [task] })
    const handle = await gleaner.enqueue(task)
    gleaner.work()
    expect(await handle.result()).toBe(3)
    const outcomes = (await gleaner.tasks.attempts(handle.id)).map(({ outcome }) => outcome)
    expect(outcomes).toEqual(['timeout', 'timeout', 'completed'])
  })

  test('can be set for one task alone', async ({ place }) => {
    const task = defineTask({
      name: 'task',
      timeout: '1h',
      retry: { attempts: 1 },
      run: (_, ctx) =>
        new Promise((_resolve, reject) => ctx.signal.addEventListener('abort', () => reject(new Error('x')))),
    })
    const gleaner = await place.open({ tasks: [task] })
    const handle = await gleaner.enqueue(task, undefined, { timeout: '20ms' })
    gleaner.work()
    await expect(handle.result()).rejects.toMatchObject({ kind: 'timeout' })
  })

  test('of one item does not touch the others of its worker', async ({ place }) => {
    const release = deferred()
    const task = defineTask({
      name: 'task',
      timeout: '1h',
      retry: { attempts: 1 },
      run: async (_, ctx) => {
        await Promise.race([
          release.promise,
          new Promise((_resolve, reject) =>
            ctx.signal.addEventListener('abort', () => reject(ctx.signal.reason)),
          ),
        ])
        return 'done'
      },
    })
    const gleaner = await place.open({ tasks: [task] })
    const slow = await gleaner.enqueue(task)
    const short = await gleaner.enqueue(task, undefined, { timeout: '20ms' })
    gleaner.work({ concurrency: 2 })
    await expect(short.result()).rejects.toMatchObject({ kind: 'timeout' })
    release.resolve()
    expect(await slow.result()).toBe('done')
  })
})
