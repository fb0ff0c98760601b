import { describe, expect } from 'vitest'
import { defineTask } from '../../src/index.ts'
import { left, tagFiles, test } from './library.ts'

const ping = defineTask({ name: 'ping', run: async () => 'pong' })

describe('a worker', () => {
  test('serves all queues and all discoveries when it is told nothing else', async ({ shelf }) => {
    const t = await shelf(3, { tasks: [ping] })
    await t.enqueue(ping)
    t.work({ concurrency: 2 })
    await t.runUntilIdle()
    expect([left(t), (await t.tasks.counts()).completed]).toEqual([0, 1])
  })

  test('that is given discoveries takes no tasks', async ({ shelf }) => {
    const t = await shelf(3, { tasks: [ping] })
    await t.enqueue(ping)
    t.work({ discoveries: ['tag-files'] })
    await t.runUntilIdle()
    expect([left(t), (await t.tasks.counts()).queued]).toEqual([0, 1])
  })

  test('that is given queues takes no rows', async ({ shelf }) => {
    const t = await shelf(3, { tasks: [ping] })
    await t.enqueue(ping)
    t.work({ queues: ['default'] })
    await t.runUntilIdle()
    expect([left(t), (await t.tasks.counts()).completed]).toEqual([3, 1])
  })

  test.for<[what: string, options: object, code: string]>([
    ['a discovery that is unknown here', { discoveries: ['film'] }, 'UNKNOWN_DISCOVERY'],
    ['a list that is none', { discoveries: 'tag-files' }, 'BAD_OPTION'],
    ['nothing at all', { queues: [], discoveries: [] }, 'BAD_OPTION'],
    ['queues without a task', { queues: ['default'] }, 'BAD_OPTION'],
  ])('refuses %s', async ([, options, code], { shelf }) => {
    const t = await shelf(1, {})
    expect(() => t.work(options)).toThrow(expect.objectContaining({ code }))
  })

  test('takes from tasks and rows in turn: neither waits until the other is done', async ({ shelf }) => {
    const order: string[] = []
    const task = defineTask({ name: 'task', run: async () => void order.push('task') })
    const discovery = tagFiles({
      run: async () => {
        order.push('row')
      },
    })
    const t = await shelf(50, { tasks: [task], discoveries: [discovery] })
    await t.enqueueMany(task, Array.from({ length: 50 }))
    t.work({ concurrency: 1 })
    await t.runUntilIdle()
    expect(order).toHaveLength(100)
    const first = order.slice(0, 40)
    expect(first.filter((kind) => kind === 'row')).toHaveLength(20)
  })

  test('enqueues from a row, and the task follows only if the row is done', async ({ shelf }) => {
    const discovery = tagFiles({
      retry: { attempts: 2, base: '1m', jitter: 0 },
      run: async (_row, ctx) =>
        ctx.complete('tagged', () => {
          void ctx.enqueue(ping)
          if (ctx.attempt === 1) throw new Error('undone')
        }),
    })
    const t = await shelf(1, { tasks: [ping], discoveries: [discovery] })
    await t.runUntilIdle()
    expect((await t.tasks.counts()).completed).toBe(0)
    await t.advance('1m')
    expect([left(t), (await t.tasks.counts()).completed]).toEqual([0, 1])
  })

  test('that stops finishes what it can, and gives the rest back at no cost', async ({ shelf }) => {
    const attempts: number[] = []
    const t = await shelf(1, {
      discoveries: [
        tagFiles({
          retry: { attempts: 1 },
          run: async (_row, ctx) => {
            attempts.push(ctx.attempt)
            if (attempts.length === 1) await t.sleep('1h', { signal: ctx.signal })
          },
        }),
      ],
    })
    const worker = t.work()
    await t.advance('1s')
    const stopped = worker.stop({ drain: 0 })
    await t.advance('1s')
    await stopped
    expect(t.db.prepare('SELECT count(*) AS n FROM gleaner_claims').get().n).toBe(0)
    t.work()
    await t.runUntilIdle()
    expect([attempts, left(t)]).toEqual([[1, 1], 0])
  })

  test('counts what it did of rows for metrics(), apart from tasks', async ({ shelf }) => {
    const discovery = tagFiles({
      retry: { attempts: 1 },
      run: async (row) => {
        if (row.id === 1) throw new Error('no')
      },
    })
    const t = await shelf(10, { tasks: [ping], discoveries: [discovery] })
    await t.enqueue(ping)
    await t.runUntilIdle()
    await t.advance('1m')
    const { queues, tasks, discoveries, perMinute } = await t.metrics()
    expect(queues.map(({ queue }) => queue)).toEqual(['default'])
    expect(tasks.map(({ name }) => name)).toEqual(['ping'])
    expect(discoveries).toMatchObject([
      { name: 'tag-files', errorRate: 0.1, durationMs: { p50: expect.any(Number) } },
    ])
    expect(discoveries[0]!.perMinute.completed).toBeCloseTo(perMinute.completed * 9, 1)
  })
})
