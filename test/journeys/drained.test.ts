import { describe, expect } from 'vitest'
import { z } from 'zod'
import { defineTask } from '../../src/index.ts'
import { deferred } from './deferred.ts'
import { test } from './place.ts'
import { patient, quick, tasks } from './tasks.ts'

describe.concurrent('drained', () => {
  test('resolves when everything due has run, what handlers enqueue included', async ({ place }) => {
    let runs = 0
    const task = defineTask({
      name: 'task',
      input: z.number(),
      run: async (depth, ctx): Promise<void> => {
        runs += 1
        if (depth > 0) await Promise.all([ctx.enqueue(task, depth - 1), ctx.enqueue(task, depth - 1)])
      },
    })
    const gleaner = await place.open({ tasks: [task] })
    await gleaner.enqueue(task, 5)
    await gleaner.work().drained()
    expect(runs).toBe(63)
    expect(await gleaner.tasks.counts()).toMatchObject({ queued: 0, running: 0, completed: 63 })
  })

  test('does not await what is delayed, unless asked to', async ({ place }) => {
    const gleaner = await place.open({ tasks })
    const delayed = await gleaner.enqueue(quick, 1, { runAfter: '700ms' })
    const worker = gleaner.work()
    await worker.drained()
    expect(await gleaner.tasks.get(delayed.id)).toMatchObject({ status: 'scheduled' })
    await worker.drained({ includeDelayed: true })
    expect(await gleaner.tasks.get(delayed.id)).toMatchObject({ status: 'completed' })
  })

  test('with includeDelayed awaits a retry', async ({ place }) => {
    const task = defineTask({
      name: 'task',
      retry: { attempts: 2, backoff: 'fixed', base: '300ms' },
      run: async (_, ctx) => {
        if (ctx.attempt === 1) throw new Error('no')
      },
    })
    const gleaner = await place.open({ tasks: [task] })
    const { id } = await gleaner.enqueue(task)
    await gleaner.work().drained({ includeDelayed: true })
    expect(await gleaner.tasks.get(id)).toMatchObject({ status: 'completed', attempts: 2 })
  })

  test('awaits what is in flight here, not what another process runs', async ({ place }) => {
    const gleaner = await place.open({ tasks })
    const elsewhere = await gleaner.enqueue(patient)
    const child = place.start('worker.ts')
    await child.hears('running')
    const worker = gleaner.work()
    await worker.drained()
    expect(await gleaner.tasks.get(elsewhere.id)).toMatchObject({ status: 'running' })
  })

  test('awaits a handler of its own', async ({ place }) => {
    const release = deferred()
    let returned = false
    const begun = deferred()
    const task = defineTask({
      name: 'task',
      run: async () => {
        begun.resolve()
        await release.promise
        returned = true
      },
    })
    const gleaner = await place.open({ tasks: [task] })
    await gleaner.enqueue(task)
    const worker = gleaner.work()
    await begun.promise
    const drained = worker.drained().then(() => returned)
    release.resolve()
    expect(await drained).toBe(true)
  })

  test('does not await a paused queue', async ({ place }) => {
    const gleaner = await place.open({ tasks })
    await gleaner.queues.pause('default')
    await gleaner.enqueue(quick, 1)
    await gleaner.work().drained()
    expect(await gleaner.tasks.counts()).toMatchObject({ queued: 1 })
  })
})
