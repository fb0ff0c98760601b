import { describe, expect } from 'vitest'
import { defineTask, TaskCancelled } from '../../src/index.ts'
import { deferred } from './deferred.ts'
import { test } from './place.ts'
import { EFFECTS, patient, quick, stubborn, tasks } from './tasks.ts'

describe.concurrent('cancelling', () => {
  test('a running task in another process is reached at once, although that would look only in an hour', async ({
    place,
  }) => {
    const gleaner = await place.open({ tasks })
    const handle = await gleaner.enqueue(patient)
    // Nothing else happens on the file: what reaches it is the cancellation itself.
    const rarely = { idleMin: '1h', idleMax: '1h', poll: '1h', lease: '1h', sweep: '1h' } as const
    const child = place.start('worker.ts', { timings: rarely })
    await child.hears('running')
    await handle.cancel()
    expect(await child.hears('aborted')).toMatchObject({ reason: 'TaskCancelled', code: 'TASK_CANCELLED' })
    await expect(handle.result()).rejects.toBeInstanceOf(TaskCancelled)
    expect(await gleaner.tasks.get(handle.id)).toMatchObject({ status: 'cancelled' })
    expect(await gleaner.tasks.attempts(handle.id)).toMatchObject([{ attempt: 1, outcome: 'cancelled' }])
  })

  test('it is reached also when every wake-up is lost, a little later', async ({ place }) => {
    const gleaner = await place.open({ tasks })
    const handle = await gleaner.enqueue(patient)
    const child = place.start('worker.ts', { timings: { idleMin: '10m' } }, place.preload('deaf.ts'))
    await child.hears('running')
    await handle.cancel()
    await child.hears('aborted')
    await expect(handle.result()).rejects.toBeInstanceOf(TaskCancelled)
  })

  test('a task that waits is cancelled at once, and never runs', async ({ place }) => {
    const gleaner = await place.open({ tasks })
    const waiting = await gleaner.enqueue(quick, 1)
    const delayed = await gleaner.enqueue(quick, 2, { runAfter: '1h' })
    await waiting.cancel()
    await delayed.cancel()
    const worker = gleaner.work()
    await worker.drained({ includeDelayed: true })
    for (const { id } of [waiting, delayed]) {
      expect(await gleaner.tasks.get(id)).toMatchObject({ status: 'cancelled', attempts: 0 })
    }
  })

  test('one that is held and not yet started never starts', async ({ place }) => {
    const blocked = deferred()
    const ahead = deferred<unknown>()
    const ran = new Set<string>()
    let lastHeld: () => unknown
    const short = defineTask<Promise<void>>({
      name: 'short',
      run: async (_, ctx) => {
        ran.add(ctx.id)
        if (ran.size !== 600) return
        // Looked up at once: what is held ahead for too long goes back.
        ahead.resolve(lastHeld())
        await blocked.promise
      },
    })
    const gleaner = await place.open({ tasks: [short] })
    const heldAhead = place
      .connect()
      .prepare(`SELECT id FROM gleaner_tasks WHERE fence IS NOT NULL AND status = 'queued' ORDER BY id DESC`)
      .pluck()
    lastHeld = () => heldAhead.get()
    await gleaner.enqueueMany(short, Array(2_000).fill(undefined))
    const worker = gleaner.work({ concurrency: 1 })
    const held = await ahead.promise
    expect(held, 'the worker holds some ahead').toBeDefined()
    const handle = gleaner.handle(short, String(held))
    await handle.cancel()
    await expect(handle.result()).rejects.toBeInstanceOf(TaskCancelled)
    blocked.resolve()
    await worker.drained()
    expect(ran.has(handle.id)).toBe(false)
    expect(await gleaner.tasks.get(handle.id)).toMatchObject({ status: 'cancelled', startedAt: null })
    expect(await gleaner.tasks.attempts(handle.id)).toEqual([])
  })

  test('a handler that does not heed its signal is given up after the grace; its completion is refused', async ({
    place,
  }) => {
    const gleaner = await place.open({ tasks })
    place.connect().exec(EFFECTS)
    const handle = await gleaner.enqueue(stubborn)
    const child = place.start('worker.ts', { timings: { grace: '20ms' } })
    await child.hears('running')
    await handle.cancel()
    await expect(handle.result()).rejects.toBeInstanceOf(TaskCancelled)
    child.tell('release')
    await child.hears('refused')
    expect(place.connect().prepare('SELECT count(*) FROM effects').pluck().get()).toBe(0)
  })

  test('a task whose worker dies after the cancel is cancelled, not run again', async ({ place }) => {
    const gleaner = await place.open({ tasks })
    const handle = await gleaner.enqueue(stubborn)
    const child = place.start('worker.ts', { timings: { grace: '1h' } })
    await child.hears('running')
    await handle.cancel()
    await child.hears('aborted')
    await child.kill()
    gleaner.work({ queues: ['elsewhere'] })
    await expect(handle.result({ timeout: '20s' })).rejects.toBeInstanceOf(TaskCancelled)
  })

  test('what has finished cannot be cancelled any more', async ({ place }) => {
    const gleaner = await place.open({ tasks })
    const handle = await gleaner.enqueue(quick, 1)
    gleaner.work()
    await handle.result()
    expect(await gleaner.tasks.cancel(handle.id)).toBe(false)
    expect(await gleaner.tasks.get(handle.id)).toMatchObject({ status: 'completed' })
  })
})
