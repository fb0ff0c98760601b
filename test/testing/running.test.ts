import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import { setTimeout as realSleep } from 'node:timers/promises'
import { describe, expect, expectTypeOf } from 'vitest'
import { z } from 'zod'
import { defineTask, type Gleaner } from '../../src/index.ts'
import { RunLimitError, RunStuckError } from '../../src/testing/index.ts'
import { test } from './open-test.ts'

const greet = defineTask({
  name: 'greet',
  input: z.object({ name: z.string() }),
  run: async ({ name }) => ({ text: `Hello, ${name}!` }),
})

describe('nothing runs', () => {
  test('before the test says so, also with a worker', async ({ open }) => {
    const t = await open({ tasks: [greet] })
    t.work()
    await t.enqueue(greet, { name: 'Ada' })
    await new Promise(setImmediate)
    expect(await t.tasks.counts()).toMatchObject({ queued: 1, running: 0 })
    await t.runUntilIdle()
    await t.enqueue(greet, { name: 'Ben' })
    await new Promise(setImmediate)
    expect(await t.tasks.counts()).toMatchObject({ queued: 1, completed: 1 })
  })

  test('that has no code here, and time passes all the same', async ({ open }) => {
    const elsewhere = defineTask({ name: 'elsewhere' })
    const t = await open({ tasks: [elsewhere] })
    await t.enqueue(elsewhere, undefined, { runAfter: '1h' })
    await t.advance('2h')
    expect((await t.enqueued(elsewhere)).map(({ status }) => status)).toEqual(['queued'])
  })

  test('that is paused', async ({ open }) => {
    const t = await open({ tasks: [greet] })
    await t.pause()
    await t.enqueue(greet, { name: 'Ada' })
    await t.advance('1d')
    expect(await t.enqueued()).toHaveLength(1)
    await t.resume()
    await t.runUntilIdle()
    expect(await t.completed()).toHaveLength(1)
  })
})

describe('runUntilIdle', () => {
  test('leaves a result for whoever asks', async ({ open }) => {
    const t = await open({ tasks: [greet] })
    const handle = await t.enqueue(greet, { name: 'Ada' })
    await t.runUntilIdle()
    expect(await handle.result()).toEqual({ text: 'Hello, Ada!' })
  })

  test('follows a task that enqueues others, and leaves those that are delayed', async ({ open }) => {
    const tree = defineTask({
      name: 'tree',
      input: z.number(),
      run: async (depth, ctx): Promise<void> => {
        if (depth === 0) await ctx.enqueue(tree, 0, { runAfter: '1s' })
        else await Promise.all([ctx.enqueue(tree, depth - 1), ctx.enqueue(tree, depth - 1)])
      },
    })
    const t = await open({ tasks: [tree] })
    await t.enqueue(tree, 5)
    await t.runUntilIdle()
    expect(await t.tasks.counts()).toMatchObject({ completed: 63, scheduled: 32, queued: 0 })
  })

  test('follows what a result or an event sets off', async ({ open }) => {
    const t = await open({ tasks: [greet] })
    const first = await t.enqueue(greet, { name: 'Ada' })
    void first.result().then(({ text }) => t.enqueue(greet, { name: text }))
    const stop = t.on('completed', () => {
      stop()
      void t.enqueue(greet, { name: 'from an event' })
    })
    await t.runUntilIdle()
    expect((await t.completed(greet)).map(({ input }) => input.name).sort()).toEqual([
      'Ada',
      'Hello, Ada!',
      'from an event',
    ])
  })

  test('runs the most urgent first', async ({ open }) => {
    const order: string[] = []
    const note = defineTask({ name: 'note', input: z.string(), run: (text) => void order.push(text) })
    const t = await open({ tasks: [note] })
    t.work({ concurrency: 1 })
    for (const priority of [100, 500, 1, 50]) await t.enqueue(note, `${priority}`, { priority })
    await t.runUntilIdle()
    expect(order).toEqual(['1', '50', '100', '500'])
  })

  test('runs what became urgent meanwhile before what waits', async ({ open }) => {
    const order: string[] = []
    const note = defineTask({
      name: 'note',
      input: z.string(),
      run: async (text, ctx): Promise<void> => {
        order.push(text)
        if (text === '2') await ctx.enqueue(note, 'urgent', { priority: 1 })
      },
    })
    const t = await open({ tasks: [note] })
    t.work({ concurrency: 1 })
    await t.enqueueMany(note, ['1', '2', '3', '4'])
    await t.runUntilIdle()
    expect(order).toEqual(['1', '2', 'urgent', '3', '4'])
  })

  test('honours keys', async ({ open }) => {
    const t = await open({ tasks: [greet] })
    const first = await t.enqueue(greet, { name: 'Ada' }, { key: 'ada' })
    const again = await t.enqueue(greet, { name: 'Ada' }, { key: 'ada' })
    expect([again.created, again.id]).toEqual([false, first.id])
    await t.runUntilIdle()
    expect((await t.enqueue(greet, { name: 'Ada' }, { key: 'ada' })).created).toBe(true)
  })

  test('honours what a task requires', async ({ open }) => {
    const heavy = defineTask({ name: 'heavy', requires: { gpu: true }, run: async () => 'done' })
    const t = await open({ tasks: [heavy] })
    await t.enqueue(heavy)
    const weak = t.work()
    await t.runUntilIdle()
    expect(await t.completed(heavy)).toEqual([])
    await weak.stop()
    t.work({ capabilities: { gpu: true } })
    await t.runUntilIdle()
    expect(await t.completed(heavy)).toHaveLength(1)
  })

  test("awaits a handler's own timers, files and processes", async ({ open }) => {
    const real = defineTask({
      name: 'real',
      timeout: '1ms',
      run: async (_, ctx): Promise<string[]> => {
        await realSleep(20)
        const file = await readFile(import.meta.filename, 'utf8')
        const [status] = await once(spawn(process.execPath, ['-e', '']), 'exit')
        ctx.log.info('done')
        return [file.slice(0, 6), String(status)]
      },
    })
    const t = await open({ tasks: [real] })
    const handle = await t.enqueue(real, undefined, { runAfter: '1h' })
    // Time stands still while it runs: what takes long in reality is not timed out.
    await t.advance('1d')
    expect(await handle.result()).toEqual(['import', '0'])
    expect((await t.tasks.logs(handle.id)).items).toMatchObject([{ message: 'done' }])
  })

  test('awaits an asynchronous schema', async ({ open }) => {
    const slowly = z.string().refine(async () => {
      await realSleep(5)
      return true
    })
    const task = defineTask({ name: 'task', input: slowly, run: async (text) => text })
    const t = await open({ tasks: [task] })
    await t.enqueue(task, 'x')
    await t.runUntilIdle()
    expect(await t.completed(task)).toMatchObject([{ result: 'x' }])
  })

  test('refuses work without end, and names it', async ({ open }) => {
    const endless = defineTask({
      name: 'endless',
      run: async (_, ctx): Promise<void> => {
        await ctx.enqueue(endless)
      },
    })
    const t = await open({ tasks: [greet, endless], runLimit: 50 })
    await t.enqueueMany(greet, [{ name: 'Ada' }, { name: 'Ben' }])
    await t.enqueue(endless)
    const refusal = await t.runUntilIdle().catch((error) => error)
    expect(refusal).toBeInstanceOf(RunLimitError)
    expect(refusal).toMatchObject({ code: 'RUN_LIMIT', task: 'endless' })
    expect(refusal.message).toMatch(/more than 50 runs while time stood still, \d+ of them of endless\. Does/)
    expect(await t.tasks.counts()).toMatchObject({ running: 0, queued: 1 })
  })

  test('counts only what runs while time stands still', async ({ open }) => {
    const hourly = defineTask({
      name: 'hourly',
      run: async (_, ctx): Promise<void> => {
        await ctx.enqueue(hourly, undefined, { runAfter: '1h' })
      },
    })
    const t = await open({ tasks: [hourly], runLimit: 1 })
    await t.enqueue(hourly)
    await t.advance('1d')
    expect(await t.completed(hourly)).toHaveLength(25)
  })

  test('gives up on a handler that does not return, and names it', async ({ open }) => {
    const { promise, resolve } = Promise.withResolvers<void>()
    const stuck = defineTask({ name: 'stuck', run: () => promise })
    const t = await open({ tasks: [stuck], patience: '20ms' })
    await t.enqueue(stuck)
    const refusal = await t.runUntilIdle().catch((error) => error)
    expect(refusal).toBeInstanceOf(RunStuckError)
    expect(refusal).toMatchObject({ code: 'RUN_STUCK', tasks: ['stuck'] })
    resolve()
    await t.runUntilIdle()
    expect(await t.completed(stuck)).toHaveLength(1)
  })

  test('inside a handler is refused: it would wait for itself', async ({ open }) => {
    const selfish = defineTask({ name: 'selfish', retry: { attempts: 1 }, run: () => t.runUntilIdle() })
    const t = await open({ tasks: [selfish] })
    await t.enqueue(selfish)
    await t.runUntilIdle()
    expect(await t.failed()).toMatchObject([{ error: { message: expect.stringContaining('selfish') } }])
  })
})

describe('the engine', () => {
  test('is a Gleaner, hooks and events included', async ({ open }) => {
    const wrapped: string[] = []
    const t = await open({
      tasks: [greet],
      hooks: {
        aroundRun: (ctx, next) => {
          wrapped.push(ctx.name)
          return next()
        },
      },
    })
    const gleaner: Gleaner = t
    const worker = gleaner.work()
    const handle = await gleaner.enqueue(greet, { name: 'Ada' })
    await worker.drained()
    expect(wrapped).toEqual(['greet'])
    expect(await gleaner.handle(greet, handle.id).result()).toEqual({ text: 'Hello, Ada!' })
    await expect(worker.drained({ includeDelayed: true })).rejects.toMatchObject({ code: 'BAD_OPTION' })
    await worker.stop()
  })

  test('does not see what another one has', async ({ open }) => {
    const [one, other] = [await open({ tasks: [greet] }), await open({ tasks: [greet] })]
    await one.enqueue(greet, { name: 'Ada' })
    await other.advance('1d')
    expect([await one.enqueued(), await other.enqueued()].map((tasks) => tasks.length)).toEqual([1, 0])
    expect(one.now()).toBe(other.now() - 86_400_000)
  })

  test('tells what was enqueued, with the types of the task', async ({ open }) => {
    const t = await open({ tasks: [greet] })
    await t.enqueue(greet, { name: 'Ada' }, { runAfter: '5m', priority: 7 })
    await t.enqueue(greet, { name: 'Ben' })
    const enqueued = await t.enqueued(greet)
    expectTypeOf(enqueued[0]!.input).toEqualTypeOf<{ name: string }>()
    expect(enqueued).toMatchObject([
      { input: { name: 'Ada' }, priority: 7, runAfter: t.now() + 300_000, createdAt: t.now() },
      { input: { name: 'Ben' }, status: 'queued', result: null },
    ])
    await t.runUntilIdle()
    const [done] = await t.completed(greet)
    expectTypeOf(done!.result).toEqualTypeOf<{ text: string } | null>()
    expect(done!.result?.text).toBe('Hello, Ben!')
  })

  test('tells of thousands in the order in which they were enqueued', async ({ open }) => {
    const t = await open({ tasks: [greet] })
    const names = Array.from({ length: 2_500 }, (_, n) => ({ name: `${n}` }))
    await t.enqueueMany(greet, names)
    await t.runUntilIdle()
    expect((await t.completed(greet)).map(({ input }) => input)).toEqual(names)
  })

  test.for([
    { database: 'sqlite::memory:' },
    { runLimit: 0 },
    { now: new Date('never') },
    { patience: 'long' },
    { colour: 'red' },
  ])('refuses %o', async (options, { open }) => {
    await expect(open(options as object)).rejects.toMatchObject({ code: expect.stringMatching(/^BAD_/) })
  })
})

describe('the database of the engine', () => {
  const book = defineTask({
    name: 'book',
    input: z.object({ cents: z.number() }),
    retry: { attempts: 1 },
    run: ({ cents }, ctx) =>
      ctx.complete('booked', (tx) => {
        tx.prepare('INSERT INTO bookings (cents) VALUES (?)').run(cents)
        if (cents < 0) throw new Error('too little')
      }),
  })

  test('has tables of your own, which a handler writes to exactly once', async ({ open }) => {
    const t = await open({ tasks: [book] })
    t.db.exec('CREATE TABLE bookings (cents INTEGER NOT NULL)')
    await t.enqueueMany(book, [{ cents: 5 }, { cents: -5 }])
    await t.runUntilIdle()
    expect(t.db.prepare('SELECT cents FROM bookings').all()).toEqual([{ cents: 5 }])
    expect(await t.failed(book)).toMatchObject([{ input: { cents: -5 } }])
  })

  test('takes what a handler enqueues together with its completion', async ({ open }) => {
    const first = defineTask({
      name: 'first',
      retry: { attempts: 1 },
      input: z.object({ name: z.string() }),
      run: (input, ctx) =>
        ctx.complete(null, () => {
          void ctx.enqueue(greet, input)
          if (input.name === 'Ben') throw new Error('no')
        }),
    })
    const t = await open({ tasks: [first, greet] })
    await t.enqueueMany(first, [{ name: 'Ada' }, { name: 'Ben' }])
    await t.runUntilIdle()
    expect((await t.completed(greet)).map(({ input }) => input.name)).toEqual(['Ada'])
  })

  test('refuses the transaction of another database in memory', async ({ open }) => {
    const [one, other] = [await open({ tasks: [greet] }), await open({ tasks: [greet] })]
    const astray = other.db.transaction(() => one.within(other.db).enqueue(greet, { name: 'Ada' }))
    expect(astray).toThrow(expect.objectContaining({ code: 'STORE_OTHER' }))
  })

  test('takes tasks inside a transaction of your own', async ({ open }) => {
    const t = await open({ tasks: [greet] })
    const greetBoth = t.db.transaction((names: string[]) => {
      for (const name of names) t.within(t.db).enqueue(greet, { name })
      if (names.length > 2) throw new Error('too many')
    })
    greetBoth(['Ada', 'Ben'])
    expect(() => greetBoth(['Cem', 'Dee', 'Eve'])).toThrow('too many')
    await t.runUntilIdle()
    expect((await t.completed(greet)).map(({ input }) => input.name)).toEqual(['Ada', 'Ben'])
  })

  test('runs what a listener enqueues inside a transaction', async ({ open }) => {
    const t = await open({ tasks: [greet] })
    const stop = t.on('completed', () => {
      stop()
      t.db.transaction(() => t.within(t.db).enqueue(greet, { name: 'Ben' }))()
    })
    await t.enqueue(greet, { name: 'Ada' })
    await t.runUntilIdle()
    expect(await t.completed(greet)).toHaveLength(2)
  })
})

describe('close', () => {
  test('waits for nobody who still runs, and tells them', async ({ open }) => {
    const reasons: unknown[] = []
    const endless = defineTask({
      name: 'endless',
      run: (_, ctx) => {
        ctx.signal.addEventListener('abort', () => reasons.push(ctx.signal.reason.code))
        return new Promise(() => {})
      },
    })
    const t = await open({ tasks: [endless], patience: '10ms' })
    await t.enqueue(endless)
    await expect(t.runUntilIdle()).rejects.toMatchObject({ code: 'RUN_STUCK' })
    await t.close()
    expect(reasons).toEqual(['STOPPED'])
  })

  test('ends a call that is under way, and refuses others', async ({ open }) => {
    const begun = Promise.withResolvers<void>()
    const endless = defineTask({
      name: 'endless',
      run: () => {
        begun.resolve()
        return new Promise(() => {})
      },
    })
    const t = await open({ tasks: [endless] })
    await t.enqueue(endless)
    const under = t.advance('1h')
    await Promise.all([expect(under).rejects.toMatchObject({ code: 'CLOSED' }), begun.promise.then(t.close)])
    await expect(t.runUntilIdle()).rejects.toMatchObject({ code: 'CLOSED' })
    await expect(t.enqueue(endless)).rejects.toMatchObject({ code: 'CLOSED' })
  })

  test('comes by itself at the end of `await using`', async ({ open }) => {
    const t = await open({ tasks: [greet] })
    await t[Symbol.asyncDispose]()
    await expect(t.enqueue(greet, { name: 'Ada' })).rejects.toMatchObject({ code: 'CLOSED' })
  })
})
