import { describe, expect } from 'vitest'
import { defineTask } from '../../src/index.ts'
import { type Place, test } from './place.ts'
import { EFFECTS } from './tasks.ts'

const insert = (tx: { prepare(sql: string): { run(...values: any[]): unknown } }, id: string) => {
  tx.prepare('INSERT INTO effects (task, pid) VALUES (?, 0)').run(Number(id))
}

function countEffects(place: Place): number {
  return place.connect().prepare('SELECT count(*) FROM effects').pluck().get() as number
}

describe.concurrent('ctx.complete', () => {
  test('two calls at the same time write once', async ({ place }) => {
    const codes: unknown[] = []
    const task = defineTask({
      name: 'task',
      run: async (_, ctx) => {
        const calls = [1, 2].map((n) =>
          ctx.complete(n, (tx) => {
            tx.prepare('INSERT INTO twice (n) VALUES (?)').run(n)
          }),
        )
        for (const call of await Promise.allSettled(calls)) {
          codes.push(call.status === 'fulfilled' ? call.value : call.reason.code)
        }
        return 'ignored: the first call has settled it'
      },
    })
    const gleaner = await place.open({ tasks: [task] })
    place.connect().exec('CREATE TABLE twice (n INTEGER)')
    const handle = await gleaner.enqueue(task)
    gleaner.work()
    expect(await handle.result()).toBe(1)
    expect(codes).toEqual([1, 'CLAIM_LOST'])
    expect(place.connect().prepare('SELECT n FROM twice').pluck().all()).toEqual([1])
  })

  test('effects that fail are undone, and the task is tried again', async ({ place }) => {
    const task = defineTask({
      name: 'task',
      retry: { attempts: 2, backoff: 'fixed', base: 1 },
      run: (_, ctx) =>
        ctx.complete('done', (tx) => {
          insert(tx, ctx.id)
          if (ctx.attempt === 1) throw new Error('in the middle')
        }),
    })
    const gleaner = await place.open({ tasks: [task] })
    place.connect().exec(EFFECTS)
    const handle = await gleaner.enqueue(task)
    gleaner.work()
    // The second attempt could not write the same key had the first left anything.
    expect(await handle.result()).toBe('done')
    expect(countEffects(place)).toBe(1)
    expect((await gleaner.tasks.attempts(handle.id)).map(({ outcome }) => outcome)).toEqual([
      'error',
      'completed',
    ])
  })

  test('effects that fail undo themselves alone, not those of others in the same commit', async ({
    place,
  }) => {
    const task = defineTask({
      name: 'task',
      retry: { attempts: 1 },
      run: (_, ctx) =>
        ctx.complete('done', (tx) => {
          insert(tx, ctx.id)
          if (Number(ctx.id) % 2 === 0) throw new Error('bad')
        }),
    })
    const gleaner = await place.open({ tasks: [task] })
    place.connect().exec(EFFECTS)
    await gleaner.enqueueMany(task, Array(20).fill(undefined))
    await gleaner.work({ concurrency: 20 }).drained()
    expect(await gleaner.tasks.counts()).toMatchObject({ completed: 10, failed: 10 })
    expect(countEffects(place)).toBe(10)
  })

  test('effects that are asynchronous are refused, and undone', async ({ place }) => {
    const task = defineTask({
      name: 'task',
      retry: { attempts: 1 },
      run: (_, ctx) => ctx.complete('done', async (tx) => insert(tx, ctx.id)),
    })
    const gleaner = await place.open({ tasks: [task] })
    place.connect().exec(EFFECTS)
    const handle = await gleaner.enqueue(task)
    gleaner.work()
    await expect(handle.result()).rejects.toMatchObject({ message: expect.stringContaining('synchronous') })
    expect(countEffects(place)).toBe(0)
  })

  test('ctx.enqueue in the callback enqueues with the completion, or not at all', async ({ place }) => {
    const next = defineTask({ name: 'next', queue: 'other', run: async () => 'done' })
    const task = defineTask({
      name: 'task',
      retry: { attempts: 2, backoff: 'fixed', base: 1 },
      run: (_, ctx) =>
        ctx.complete('done', () => {
          void ctx.enqueue(next)
          if (ctx.attempt === 1) throw new Error('in the middle')
        }),
    })
    const timings = { idleMin: '1h', idleMax: '1h' } as const
    const gleaner = await place.open({ tasks: [task, next], timings })
    const others = gleaner.work({ queues: ['other'] })
    await others.drained()
    const done = new Promise((resolve) =>
      gleaner.on('completed', ({ name }) => name === 'next' && resolve(name)),
    )
    const handle = await gleaner.enqueue(task)
    gleaner.work({ queues: ['default'] })
    expect(await handle.result()).toBe('done')
    // An idle worker of the same process hears of it.
    await done
    expect((await gleaner.tasks.list({ name: 'next' })).items).toHaveLength(1)
  })

  test('a handler that fails after it has completed has completed', async ({ place }) => {
    const task = defineTask({
      name: 'task',
      run: async (_, ctx) => {
        await ctx.complete('done', (tx) => insert(tx, ctx.id))
        throw new Error('too late')
      },
    })
    const gleaner = await place.open({ tasks: [task] })
    place.connect().exec(EFFECTS)
    const handle = await gleaner.enqueue(task)
    const worker = gleaner.work()
    expect(await handle.result()).toBe('done')
    await worker.drained()
    expect(await gleaner.tasks.get(handle.id)).toMatchObject({ status: 'completed', attempts: 1 })
    expect(countEffects(place)).toBe(1)
  })
})
