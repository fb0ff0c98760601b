import { describe, expect } from 'vitest'
import { defineTask, StoppedError } from '../../src/index.ts'
import { deferred } from './deferred.ts'
import { test } from './place.ts'
import { EFFECTS, patient, quick, stubborn, tasks } from './tasks.ts'

describe.concurrent('stopping', () => {
  test('what is unfinished when the drain time is over goes back, and costs no attempt', async ({
    place,
  }) => {
    const gleaner = await place.open({ tasks })
    const handle = await gleaner.enqueue(patient)
    const first = place.start('worker.ts')
    await first.hears('running')
    first.tell('stop', { drain: '10ms' })
    expect(await first.hears('aborted')).toMatchObject({ reason: 'StoppedError', code: 'STOPPED' })
    await first.hears('stopped')
    expect(await gleaner.tasks.get(handle.id)).toMatchObject({
      status: 'queued',
      attempts: 0,
      crashes: 0,
      error: null,
    })
    expect(await gleaner.tasks.attempts(handle.id)).toMatchObject([{ attempt: 1, outcome: 'returned' }])
    const second = place.start('worker.ts')
    expect(await second.hears('running')).toMatchObject({ id: handle.id, attempt: 1 })
    second.tell('release')
    expect(await handle.result()).toBe(second.pid)
  })

  test('a handler that does not heed its signal is not waited for; its late completion is refused', async ({
    place,
  }) => {
    const gleaner = await place.open({ tasks })
    place.connect().exec(EFFECTS)
    const handle = await gleaner.enqueue(stubborn)
    const first = place.start('worker.ts')
    await first.hears('running')
    first.tell('stop', { drain: '10ms' })
    await first.hears('stopped')
    expect(await gleaner.tasks.get(handle.id)).toMatchObject({ status: 'queued', attempts: 0 })
    first.tell('release')
    await first.hears('refused')
    expect(place.connect().prepare('SELECT count(*) FROM effects').pluck().get()).toBe(0)
  })

  test('what runs is finished within the drain time', async ({ place }) => {
    const gleaner = await place.open({ tasks })
    const handle = await gleaner.enqueue(patient)
    const child = place.start('worker.ts')
    await child.hears('running')
    const next = await gleaner.enqueue(quick, 1)
    child.tell('stop', { drain: '30s' })
    child.tell('release')
    await child.hears('stopped')
    expect(await gleaner.tasks.get(handle.id)).toMatchObject({ status: 'completed', attempts: 1 })
    // Nothing new is begun meanwhile.
    expect(await gleaner.tasks.get(next.id)).toMatchObject({ status: 'queued', attempts: 0 })
  })

  test('what was claimed ahead goes back as well, uncharged', async ({ place }) => {
    const blocked = deferred()
    const begun = deferred()
    const ran: number[] = []
    // Short ones first, so that the worker holds more of them than it can start; then one that takes its time.
    const short = defineTask<Promise<void>>({
      name: 'short',
      run: async (_, ctx) => {
        ran.push(Number(ctx.id))
        if (ran.length !== 600) return
        begun.resolve()
        await blocked.promise
      },
    })
    const gleaner = await place.open({ tasks: [short] })
    const handles = await gleaner.enqueueMany(short, Array(2_000).fill(undefined))
    const worker = gleaner.work({ concurrency: 1 })
    await begun.promise
    const held = `SELECT count(*) FROM gleaner_tasks WHERE fence IS NOT NULL AND status = 'queued'`
    const db = place.connect()
    expect(db.prepare(held).pluck().get(), 'the worker holds some ahead').toBeGreaterThan(0)
    const stopped = worker.stop({ drain: '30s' })
    blocked.resolve()
    await stopped
    // None of those it held was begun after the word to stop.
    expect(ran).toHaveLength(600)
    const counts = await gleaner.tasks.counts()
    expect(counts).toMatchObject({ running: 0, completed: ran.length, queued: handles.length - ran.length })
    expect(db.prepare(held).pluck().get()).toBe(0)
    expect(db.prepare(`SELECT max(attempts) FROM gleaner_tasks WHERE status = 'queued'`).pluck().get()).toBe(
      0,
    )
    // In order: the ones behind those that ran.
    expect(ran).toEqual(handles.slice(0, ran.length).map(({ id }) => Number(id)))
  })

  test('items held ahead go back to others when the one before them takes its time', async ({ place }) => {
    const blocked = deferred()
    const begun = deferred()
    let runs = 0
    const short = defineTask<Promise<void>>({
      name: 'short',
      run: async () => {
        runs += 1
        if (runs !== 600) return
        begun.resolve()
        await blocked.promise
      },
    })
    const gleaner = await place.open({ tasks: [short] })
    const handles = await gleaner.enqueueMany(short, Array(2_000).fill(undefined))
    const busy = gleaner.work({ concurrency: 1 })
    await begun.promise
    // All but the one that blocks the first worker are within reach of the second.
    const other = gleaner.work({ concurrency: 1 })
    await expect
      .poll(async () => (await gleaner.tasks.counts()).completed, { timeout: 30_000 })
      .toBe(handles.length - 1)
    blocked.resolve()
    await Promise.all([busy.stop(), other.stop()])
    expect((await gleaner.tasks.counts()).completed).toBe(handles.length)
  })

  test('close stops the workers first, and may be called twice', async ({ place }) => {
    const released = deferred()
    const begun = deferred()
    const task = defineTask({
      name: 'task',
      run: async () => {
        begun.resolve()
        await released.promise
        return 'done'
      },
    })
    const gleaner = await place.open({ tasks: [task] })
    const { id } = await gleaner.enqueue(task)
    gleaner.work()
    await begun.promise
    const closed = gleaner.close()
    released.resolve()
    await Promise.all([closed, gleaner.close()])
    await expect(gleaner.enqueue(task)).rejects.toMatchObject({ code: 'CLOSED' })
    expect(() => gleaner.work()).toThrow(expect.objectContaining({ code: 'CLOSED' }))
    const again = await place.open({ tasks: [task] })
    expect(await again.tasks.get(id)).toMatchObject({ status: 'completed', result: 'done' })
  })

  test('the signal of a handler says that the worker is stopping', async ({ place }) => {
    const begun = deferred()
    const reason = deferred<unknown>()
    const task = defineTask({
      name: 'task',
      run: async (_, ctx) => {
        ctx.signal.addEventListener('abort', () => reason.resolve(ctx.signal.reason))
        begun.resolve()
        await reason.promise
      },
    })
    const gleaner = await place.open({ tasks: [task] })
    const { id } = await gleaner.enqueue(task)
    const worker = gleaner.work()
    await begun.promise
    await worker.stop({ drain: 0 })
    expect(await reason.promise).toBeInstanceOf(StoppedError)
    // It returned after the abort, as if done: what it returns is its result.
    expect(await gleaner.tasks.get(id)).toMatchObject({ status: 'completed' })
  })

  test('the process ends by itself once it is closed', async ({ place }) => {
    const gleaner = await place.open({ tasks })
    await (await gleaner.enqueue(quick, 1)).cancel()
    await gleaner.enqueue(patient)
    const child = place.start('worker.ts', { concurrency: [1, 4] })
    await child.hears('running')
    child.tell('release')
    await child.hears('completed')
    child.tell('close')
    expect(await child.ended).toEqual({ code: 0, signal: null })
  })

  test('a result that is awaited does not keep a closed process alive: it is refused', async ({ place }) => {
    const child = place.start('waiter.ts')
    expect(await child.hears('refused')).toMatchObject({ code: 'CLOSED' })
    expect(await child.ended).toEqual({ code: 0, signal: null })
  })
})
