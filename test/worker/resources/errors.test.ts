import { describe, expect } from 'vitest'
import { z } from 'zod'
import { defineTask, PermanentError, ResourceError } from '../../../src/index.ts'
import { openTemp } from '../../temp-database.ts'
import { test } from '../../testing/open-test.ts'
import { model } from './model.ts'

/** Each task says itself how it ends. */
const task = defineTask({
  name: 'task',
  input: z.enum(['fine', 'broken', 'bad', 'useless']),
  retry: { attempts: 1, base: '1m', jitter: 0 },
  run: (how) => {
    if (how === 'broken') throw new ResourceError('the GPU fell off the bus')
    if (how === 'bad') throw new Error('bad data')
    if (how === 'useless') throw new PermanentError('no such file')
  },
})

describe('a ResourceError', () => {
  test('returns the attempt, and the item backs off', async ({ open }) => {
    const t = await open({ tasks: [task] })
    const problems: string[] = []
    t.on('problem', ({ message }) => problems.push(message))
    const worker = t.work()
    const { id } = await t.enqueue(task, 'broken')
    await t.runUntilIdle()
    expect(await t.tasks.get(id)).toMatchObject({
      status: 'scheduled',
      attempts: 0,
      runAfter: t.now() + 60_000,
      error: { kind: 'error', message: 'the GPU fell off the bus' },
    })
    expect(worker.snapshot().counters).toMatchObject({ processed: 0, errors: 0, consecutive_errors: 1 })
    expect(problems).toEqual([`${worker.id}: a resource error`])
    await t.advance('1m')
    expect((await t.tasks.attempts(id)).map(({ outcome }) => outcome)).toEqual(['later', 'later'])
  })

  test('ten times in a row ends the worker, which says why; what is left stays for others', async ({
    open,
  }) => {
    const t = await open({ tasks: [task] })
    t.on('problem', () => {})
    const failed: unknown[] = []
    t.on('worker-failed', (event) => failed.push(event))
    const worker = t.work({ concurrency: 1 })
    await t.enqueueMany(task, Array(12).fill('broken'))
    await t.runUntilIdle()
    expect(worker.failed).toMatchObject({ code: 'RESOURCE_ERRORS', cause: { code: 'RESOURCE' } })
    expect(failed).toEqual([{ worker: worker.id, error: worker.failed }])
    expect(worker.snapshot()).toMatchObject({ phase: 'stopping', counters: { consecutive_errors: 10 } })
    expect(await t.tasks.counts()).toMatchObject({ queued: 2, scheduled: 10, failed: 0 })
    // Another one is not broken because this one was.
    const next = t.work({ concurrency: 1 })
    await t.runUntilIdle()
    expect(next.failed).toBeNull()
    expect(await t.tasks.counts()).toMatchObject({ queued: 0, scheduled: 12 })
  })

  test('is forgotten with the first success; bad data neither counts nor forgets', async ({ open }) => {
    const t = await open({ tasks: [task] })
    t.on('problem', () => {})
    const worker = t.work({ concurrency: 1 })
    const inRow = () => worker.snapshot().counters.consecutive_errors
    for (const how of [...Array(9).fill('broken'), 'bad', 'useless']) await t.enqueue(task, how)
    await t.runUntilIdle()
    expect(inRow()).toBe(9)
    await t.enqueueMany(task, Array(50).fill('bad'))
    await t.enqueue(task, 'fine')
    await t.runUntilIdle()
    expect(inRow()).toBe(0)
    for (let n = 0; n < 9; n++) await t.enqueue(task, 'broken')
    await t.runUntilIdle()
    expect(worker).toMatchObject({ failed: null })
    expect(inRow()).toBe(9)
    expect(worker.snapshot().counters).toMatchObject({ processed: 53, errors: 52 })
  })

  test('as often as the worker was told ends it, and fails whoever waits for it to be drained', async () => {
    const gleaner = await openTemp({ tasks: [task] })
    gleaner.on('problem', () => {})
    // Short ones first: of those it holds many ahead.
    await gleaner.enqueueMany(task, [...Array(100).fill('fine'), ...Array(50).fill('broken')])
    const worker = gleaner.work({ concurrency: 1, resourceErrorLimit: 2 })
    await expect(worker.drained({ includeDelayed: true })).rejects.toThrow('gave up after 2 resource errors')
    await expect(worker.drained()).rejects.toBe(worker.failed)
    await worker.stop()
    expect(await gleaner.tasks.counts()).toMatchObject({ queued: 48, scheduled: 2, running: 0 })
  })

  test('that ends the worker at the first of many it was given lets the others go back', async () => {
    const gleaner = await openTemp({ tasks: [task] })
    gleaner.on('problem', () => {})
    const worker = gleaner.work({ concurrency: 1, resourceErrorLimit: 1 })
    // Short ones: of those it takes many at once.
    await gleaner.enqueueMany(task, Array(200).fill('fine'))
    await worker.drained()
    await gleaner.enqueueMany(task, Array(50).fill('broken'), { atomic: true })
    await expect(worker.drained({ includeDelayed: true })).rejects.toThrow('gave up after 1 resource error')
    await worker.stop()
    expect(await gleaner.tasks.counts()).toMatchObject({ queued: 49, scheduled: 1, running: 0 })
  })

  test('of one load that many waited for counts once, and ten of them say that it would not load', async ({
    open,
  }) => {
    const { embed } = model({ load: () => Promise.reject(new Error('bad file')), retryAfter: '1s' })
    const t = await open({ tasks: [embed] })
    t.on('problem', () => {})
    const worker = t.work({ concurrency: 5 })
    await t.enqueueMany(embed, Array(5).fill(undefined))
    await t.runUntilIdle()
    expect(worker.snapshot().counters.consecutive_errors).toBe(1)
    await t.advance('1m')
    expect(worker.failed).toMatchObject({ code: 'RESOURCE_LOAD' })
    expect(worker.snapshot().counters.consecutive_errors).toBe(10)
  })

  test('makes the worker ask whether what was used is still there, and unload it if not', async ({
    open,
  }) => {
    const { resource, state, calls } = model()
    const uses = defineTask({
      name: 'uses',
      uses: { resource },
      retry: { attempts: 1, base: '1s', jitter: 0 },
      run: (_, ctx) => {
        if (ctx.use.resource.number === 1) throw new ResourceError('CUDA error')
        return ctx.use.resource.embed()
      },
    })
    const t = await open({ tasks: [uses] })
    t.on('problem', () => {})
    const worker = t.work()
    const handle = await t.enqueue(uses)
    state.available = true
    const looking = t.runUntilIdle()
    await looking
    // It was there: it stays.
    expect(calls).toEqual(['probe', 'load', 'probe'])
    state.available = { reason: 'no VRAM', retryAfter: '1m' }
    await t.advance('1s')
    expect(calls).toEqual(['probe', 'load', 'probe', 'probe', 'unload 1'])
    expect(worker.snapshot().phase).toBe('backing_off')
    state.available = true
    await t.advance('1m')
    expect(await handle.result()).toBe('by 2')
  })
})
