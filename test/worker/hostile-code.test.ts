import { describe, expect, test as plainTest } from 'vitest'
import { type ColumnValue, defineResource, defineTask } from '../../src/index.ts'
import { Emitter } from '../../src/worker/attempt/events.ts'
import { left, tagFiles, test } from '../discovery/library.ts'
import { openTemp } from '../temp-database.ts'
import { PLAIN } from './hostile-values.ts'

const HOSTILE = Object.values(PLAIN)

function throwing(nth: () => number): () => never {
  return () => {
    throw HOSTILE[nth()]!()
  }
}

describe('whatever the code around a handler throws', () => {
  test('in `done`: the row fails with a readable message, and the others are done', async ({ shelf }) => {
    const discovery = tagFiles({
      retry: { attempts: 1 },
      run: async (row) => row.id as number,
      done: (id): Record<string, ColumnValue> => {
        // The getter, too, is the user's code, and throws where the columns are read.
        if ((id as number) % 3 === 1) throw HOSTILE[id as number]!()
        if ((id as number) % 3 === 2)
          return {
            get tags(): string {
              return throwing(() => id as number)()
            },
          }
        return { needs_tagging: 0 }
      },
    })
    const count = HOSTILE.length - 1
    const t = await shelf(count, { discoveries: [discovery] })
    t.work()
    await t.runUntilIdle()
    const { items } = await t.discoveries.rows('tag-files', { state: 'quarantined' })
    expect(items.length).toBe(left(t))
    expect(left(t)).toBe(count - Math.floor(count / 3))
    for (const { error } of items) expect(error!.message).toMatch(/^[^\0]{2,2000}$/s)
  })

  test('in `done`: what it returned is read once, so that no getter throws inside the transaction', async ({
    shelf,
  }) => {
    let reads = 0
    const discovery = tagFiles({
      done: () => ({
        needs_tagging: 0,
        get tags(): string {
          reads += 1
          if (reads > 1) throw new Error('read twice')
          return 'once'
        },
      }),
    })
    const t = await shelf(1, { discoveries: [discovery] })
    t.work()
    await t.runUntilIdle()
    expect([left(t), reads]).toEqual([0, 1])
  })

  test('a report of progress that nobody awaits is a warning in the log of the task when it is refused', async ({
    open,
  }) => {
    const unhandled: unknown[] = []
    const task = defineTask({ name: 'task', run: (_, ctx) => void ctx.progress(Number.NaN) })
    const listeners = process.listeners('unhandledRejection')
    process
      .removeAllListeners('unhandledRejection')
      .on('unhandledRejection', (error) => unhandled.push(error))
    const t = await open({ tasks: [task] })
    t.work()
    const { id } = await t.enqueue(task)
    await t.runUntilIdle()
    // Node tells of it when the microtasks are over.
    await new Promise((resolve) => setImmediate(resolve))
    process.removeAllListeners('unhandledRejection')
    for (const listener of listeners) process.on('unhandledRejection', listener)
    expect(unhandled).toEqual([])
    expect(await t.tasks.get(id)).toMatchObject({ status: 'completed' })
    const { items } = await t.tasks.logs(id)
    expect(items).toMatchObject([
      { level: 'warn', message: expect.stringContaining('NaN is not a fraction') },
    ])
  })

  test('in `probe`, `load` and `unload`: nothing is charged, and the worker goes on', async ({ open }) => {
    let nth = 0
    const load = () => {
      nth += 1
      if (nth < HOSTILE.length) throw HOSTILE[nth]!()
      return { nth }
    }
    const model = defineResource({ name: 'model', load, unload: throwing(() => 3), idleAfter: '1s' })
    const probed = defineResource({
      name: 'probed',
      probe: () => {
        if (nth < HOSTILE.length) throw HOSTILE[nth]!()
        return true
      },
      load: () => ({}),
    })
    const task = defineTask({ name: 'task', uses: { model }, run: () => 'done' })
    const other = defineTask({ name: 'other', uses: { probed }, run: () => 'done' })
    const t = await open({ tasks: [task, other] })
    t.work({ resourceErrorLimit: 1_000 })
    const handles = [await t.enqueue(task), await t.enqueue(other)]
    await t.advance('2h')
    for (const { id } of handles) expect(await t.tasks.get(id)).toMatchObject({ status: 'completed' })
  })

  plainTest('in `limit.key`: the caller hears it as an error of the task', async () => {
    let nth = 0
    const task = defineTask({
      name: 'task',
      limit: { key: throwing(() => nth), concurrency: 1 },
      run: () => {},
    })
    const gleaner = await openTemp({ tasks: [task] })
    for (nth = 0; nth < HOSTILE.length; nth++)
      await expect(gleaner.enqueue(task)).rejects.toMatchObject({ code: 'BAD_KEY' })
  })

  plainTest('that nobody listens for: it is a warning of the process', async () => {
    const emitter = new Emitter()
    const warnings: Error[] = []
    const onWarning = (warning: Error) => void warnings.push(warning)
    process.on('warning', onWarning)
    for (const make of HOSTILE) emitter.emit('problem', () => ({ message: 'a hook threw', error: make() }))
    await expect.poll(() => warnings.length).toBe(HOSTILE.length)
    process.off('warning', onWarning)
    for (const { message } of warnings) expect(message).toMatch(/^a hook threw: .{1,2000}$/s)
  })
})
