import { expect, test } from 'vitest'
import { z } from 'zod'
import { defineTask } from '../../src/index.ts'
import { openTemp } from '../temp-database.ts'

const entry = z.object({ account: z.string(), nth: z.number() })

test('tasks of one key run in the order of enqueue across workers, and a task that backs off holds its key', async () => {
  const started: string[] = []
  let running = 0
  let most = 0
  const book = defineTask({
    name: 'book',
    input: entry,
    order: ({ account }) => account,
    retry: { attempts: 3, backoff: 'fixed', base: 5, jitter: 0 },
    run: async ({ account, nth }, ctx) => {
      started.push(`${account}${nth}${ctx.attempt === 1 ? '' : ' again'}`)
      if (account === 'a') {
        running += 1
        most = Math.max(most, running)
        await new Promise(setImmediate)
        running -= 1
      }
      if (account === 'a' && nth === 1 && ctx.attempt === 1) throw new Error('the first attempt fails')
      if (account === 'a' && nth === 2) throw new Error('it fails for good')
    },
  })
  const gleaner = await openTemp({ tasks: [book] })
  await gleaner.enqueueMany(
    book,
    [0, 1, 2, 3].flatMap((nth) => ['a', 'b'].map((account) => ({ account, nth }))),
    { priority: 7 },
  )
  const last = await gleaner.enqueue(book, { account: 'a', nth: 4 }, { priority: 1 })
  const explanation = await gleaner.tasks.explain(last.id)
  expect(explanation.reasons).toContainEqual(
    expect.objectContaining({
      check: 'in-order',
      ok: false,
      detail: 'it waits for task 1 and 3 other tasks before it, of the same order key "a"',
    }),
  )
  await Promise.all(
    [gleaner.work(), gleaner.work()].map((worker) => worker.drained({ includeDelayed: true })),
  )
  const of = (account: string) => started.filter((one) => one.startsWith(account))
  expect(of('a')).toEqual(['a0', 'a1', 'a1 again', 'a2', 'a2 again', 'a2 again', 'a3', 'a4'])
  expect(of('b')).toEqual(['b0', 'b1', 'b2', 'b3'])
  expect(most).toBe(1)
  expect(await gleaner.maintenance.check()).toEqual([])
})

test('a task that sleeps holds its key', async () => {
  const done: string[] = []
  const ship = defineTask({
    name: 'ship',
    input: z.string(),
    order: () => 'all',
    run: async (name, ctx) => {
      if (name === 'first') await ctx.sleep('rest', '20ms')
      done.push(name)
    },
  })
  const gleaner = await openTemp({ tasks: [ship] })
  await gleaner.enqueueMany(ship, ['first', 'second'])
  await gleaner.work().drained({ includeDelayed: true })
  expect(done).toEqual(['first', 'second'])
})

test.each([
  [
    'throws',
    () => {
      throw new Error('no account')
    },
  ],
  ['returns nothing', () => undefined],
  ['returns an empty text', () => ''],
  ['returns what no database stores', () => 'a\0b'],
])('a function that %s is a typed error, and nothing is enqueued', async (_, order) => {
  const task = defineTask({ name: 'bad', input: z.number(), order: order as never, run: () => {} })
  const gleaner = await openTemp({ tasks: [task] })
  await expect(gleaner.enqueueMany(task, [1, 2])).rejects.toMatchObject({ code: 'BAD_KEY' })
  expect((await gleaner.tasks.counts()).queued).toBe(0)
})

test('an order that is not a function is refused', () => {
  const define = () => defineTask({ name: 'x', order: 'account' as never, run: () => {} })
  expect(define).toThrow(expect.objectContaining({ code: 'BAD_DEFINITION' }))
})
