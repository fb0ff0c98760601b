import { describe, expect } from 'vitest'
import { defineTask } from '../../src/index.ts'
import { openTemp } from '../temp-database.ts'
import { deferred } from './deferred.ts'
import { test } from './place.ts'

describe.concurrent('what is to be seen of a task', () => {
  test.each(['returns', 'completes with effects', 'fails'] as const)(
    'what a handler reports right before it %s is kept',
    async (how) => {
      const task = defineTask({
        name: 'last',
        retry: { attempts: 1 },
        async run(_, ctx) {
          await ctx.progress(0.5)
          await ctx.progress(0.9, 'all but one')
          if (how === 'fails') throw new Error('the last one')
          if (how === 'completes with effects') await ctx.complete(null, () => {})
        },
      })
      const gleaner = await openTemp({ tasks: [task] })
      const handle = await gleaner.enqueue(task)
      gleaner.work()
      await handle.result().catch(() => {})
      expect((await gleaner.tasks.get(handle.id))?.progress).toEqual({
        fraction: 0.9,
        message: 'all but one',
      })
    },
  )

  test('progress and log lines are there while it runs, for another process as well', async ({ place }) => {
    const release = deferred()
    const task = defineTask({
      name: 'task',
      run: async (_, ctx) => {
        ctx.log.info('start', { path: 'a.flac' })
        await ctx.progress(0.5, 'half way')
        await release.promise
        ctx.log.warn('almost')
        await ctx.progress(1)
      },
    })
    const gleaner = await place.open({ tasks: [task] })
    const onlooker = await place.open({ tasks: [task] })
    const handle = await gleaner.enqueue(task)
    gleaner.work()
    await expect
      .poll(async () => (await onlooker.tasks.get(handle.id))!.progress, { timeout: 20_000 })
      .toEqual({ fraction: 0.5, message: 'half way' })
    expect((await onlooker.tasks.logs(handle.id)).items).toMatchObject([
      { level: 'info', message: 'start', details: { path: 'a.flac' }, attempt: 1 },
    ])
    release.resolve()
    await handle.result()
    expect((await onlooker.tasks.logs(handle.id)).items.map(({ message }) => message)).toEqual([
      'start',
      'almost',
    ])
  })

  test('what was logged before ctx.complete is kept', async ({ place }) => {
    const task = defineTask({
      name: 'task',
      run: (_, ctx) => {
        ctx.log.info('about to write')
        return ctx.complete('done', () => {})
      },
    })
    const gleaner = await place.open({ tasks: [task] })
    const handle = await gleaner.enqueue(task)
    const worker = gleaner.work()
    await handle.result()
    await worker.stop()
    expect((await gleaner.tasks.logs(handle.id)).items).toMatchObject([{ message: 'about to write' }])
  })

  test('log lines are bounded: a handler that never stops talking fills no disk', async ({ place }) => {
    const task = defineTask({
      name: 'task',
      run: async (_, ctx) => {
        for (let n = 0; n < 5_000; n++) ctx.log.info(`line ${n}`)
        ctx.log.info('x'.repeat(100_000), { large: 'y'.repeat(100_000) })
      },
    })
    const gleaner = await place.open({ tasks: [task] })
    const handle = await gleaner.enqueue(task)
    gleaner.work()
    await handle.result()
    const db = place.connect()
    expect(db.prepare('SELECT count(*) FROM gleaner_logs').pluck().get()).toBeLessThanOrEqual(1_000)
    expect(db.prepare('SELECT max(length(message)) FROM gleaner_logs').pluck().get()).toBeLessThan(5_000)
  })

  test('one long log line is cut, its details are described', async ({ place }) => {
    const task = defineTask({
      name: 'task',
      run: async (_, ctx) => {
        ctx.log.info('x'.repeat(100_000), { large: 'y'.repeat(100_000) })
      },
    })
    const gleaner = await place.open({ tasks: [task] })
    const handle = await gleaner.enqueue(task)
    gleaner.work()
    await handle.result()
    const [line] = (await gleaner.tasks.logs(handle.id)).items
    expect(line!.message.length).toBeLessThan(5_000)
    expect(line!.details).toEqual({ dropped: expect.stringContaining('characters') })
  })

  test('a result over the limit fails for good and is not stored', async ({ place }) => {
    const task = defineTask({ name: 'task', run: async () => 'x'.repeat(2_000) })
    const gleaner = await place.open({ tasks: [task], payloadLimit: 1_000 })
    const handle = await gleaner.enqueue(task)
    gleaner.work()
    await expect(handle.result()).rejects.toMatchObject({ kind: 'permanent' })
    expect(await gleaner.tasks.get(handle.id)).toMatchObject({ result: null, attempts: 1 })
  })

  test('an error of any size and kind becomes a bounded one', async ({ place }) => {
    const task = defineTask({
      name: 'task',
      retry: { attempts: 1 },
      run: async () => {
        throw 'x'.repeat(1_000_000)
      },
    })
    const gleaner = await place.open({ tasks: [task] })
    const handle = await gleaner.enqueue(task)
    gleaner.work()
    await expect(handle.result()).rejects.toMatchObject({ kind: 'error' })
    expect((await gleaner.tasks.get(handle.id))!.error!.message.length).toBeLessThan(5_000)
  })
})

describe.concurrent('hooks and events', () => {
  test('onFailure hears of each failed attempt once it is committed, and which one is the last', async ({
    place,
  }) => {
    const task = defineTask({
      name: 'task',
      retry: { attempts: 2, backoff: 'fixed', base: 1 },
      run: async () => {
        throw new Error('no')
      },
    })
    const heard: object[] = []
    const gleaner = await place.open({
      tasks: [task],
      hooks: {
        onFailure: ({ kind, message }, { attempt, final, name }) =>
          heard.push({ kind, message, attempt, final, name }),
      },
    })
    const handle = await gleaner.enqueue(task)
    const worker = gleaner.work()
    await expect(handle.result()).rejects.toMatchObject({ kind: 'error' })
    await worker.drained()
    const failure = { kind: 'error', message: 'Error: no', name: 'task' }
    expect(heard).toEqual([
      { ...failure, attempt: 1, final: false },
      { ...failure, attempt: 2, final: true },
    ])
  })

  test('aroundRun encloses every run, and may change what it gives', async ({ place }) => {
    const order: string[] = []
    const task = defineTask({
      name: 'task',
      run: async () => {
        order.push('run')
        return 1
      },
    })
    const gleaner = await place.open({
      tasks: [task],
      hooks: {
        async aroundRun(ctx, next) {
          order.push(`before ${ctx.name}`)
          const result = await next()
          order.push('after')
          return Number(result) + 1
        },
      },
    })
    const handle = await gleaner.enqueue(task)
    gleaner.work()
    expect(await handle.result()).toBe(2)
    expect(order).toEqual(['before task', 'run', 'after'])
  })

  test('hooks and listeners that throw harm neither the work nor each other', async ({ place }) => {
    const task = defineTask({
      name: 'task',
      retry: { attempts: 1 },
      run: async () => {
        throw new Error('no')
      },
    })
    const problems: string[] = []
    const gleaner = await place.open({
      tasks: [task],
      hooks: {
        onFailure() {
          throw new Error('the tracker is away')
        },
      },
    })
    gleaner.on('started', () => {
      throw new Error('a bug in a listener')
    })
    gleaner.on('problem', ({ message }) => problems.push(message))
    const handle = await gleaner.enqueue(task)
    const worker = gleaner.work()
    await expect(handle.result()).rejects.toMatchObject({ kind: 'error' })
    await worker.drained()
    expect(problems).toEqual([expect.stringContaining('listener'), expect.stringContaining('onFailure')])
  })

  test('an event comes after its commit', async ({ place }) => {
    const task = defineTask({ name: 'task', run: async () => 1 })
    const gleaner = await place.open({ tasks: [task] })
    const db = place.connect()
    const seen = new Promise<unknown>((resolve) =>
      gleaner.on('completed', ({ id }) =>
        resolve(db.prepare('SELECT status FROM gleaner_tasks WHERE id = ?').pluck().get(Number(id))),
      ),
    )
    await gleaner.enqueue(task)
    gleaner.work()
    expect(await seen).toBe('completed')
  })
})
