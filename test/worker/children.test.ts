import { expect, test } from 'vitest'
import { z } from 'zod'
import { ChildFailed, defineTask, type Task } from '../../src/index.ts'
import { openTestGleaner } from '../../src/testing/index.ts'

const Numbers = z.array(z.number())
const double = defineTask({
  name: 'double',
  queue: 'small',
  input: z.number(),
  retry: { attempts: 1 },
  async run(n) {
    if (n < 0) throw new Error(`${n} is negative`)
    return n * 2
  },
})

test('a parent gets the results of its children in the order of the inputs', async () => {
  const sum = defineTask({
    name: 'sum',
    input: Numbers,
    async run(numbers, ctx) {
      const doubled = await ctx.all('double', double, numbers)
      const more = await ctx.run(double, 100)
      return doubled.reduce((a, b) => a + b, more)
    },
  })
  await using t = await openTestGleaner({ tasks: [sum, double] })
  const handle = await t.enqueue(sum, [1, 2, 3])
  await t.runUntilIdle()
  expect(await handle.result()).toBe(212)
  expect((await t.tasks.attempts(handle.id)).map(({ outcome }) => outcome)).toEqual([
    'suspended',
    'suspended',
    'completed',
  ])
  expect(await t.tasks.get(handle.id)).toMatchObject({ attempts: 1 })
})

test('a failed child rejects the wait of its parent, which can catch it', async () => {
  const caught: unknown[] = []
  const careful = defineTask({
    name: 'careful',
    async run(_, ctx) {
      try {
        return await ctx.all('double', double, [1, -1])
      } catch (error) {
        caught.push(error)
        return 'saved'
      }
    },
  })
  await using t = await openTestGleaner({ tasks: [careful, double] })
  const handle = await t.enqueue(careful)
  await t.runUntilIdle()
  expect(await handle.result()).toBe('saved')
  expect(caught).toHaveLength(1)
  expect(caught[0]).toBeInstanceOf(ChildFailed)
  expect(caught[0]).toMatchObject({
    code: 'CHILD_FAILED',
    child: 'double',
    status: 'failed',
    error: { kind: 'error', message: 'Error: -1 is negative' },
  })
})

test('a parent that does not catch the failure of a child fails for good, and goes on behind it when both are retried', async () => {
  let isBroken = true
  const fragile = defineTask({
    name: 'fragile',
    retry: { attempts: 1 },
    async run() {
      if (isBroken) throw new Error('broken')
      return 'fixed'
    },
  })
  const parent = defineTask({ name: 'parent', run: (_, ctx) => ctx.run(fragile) })
  await using t = await openTestGleaner({ tasks: [parent, fragile] })
  const handle = await t.enqueue(parent)
  await t.runUntilIdle()
  expect(await t.tasks.get(handle.id)).toMatchObject({
    status: 'failed',
    attempts: 1,
    error: { kind: 'permanent' },
  })
  isBroken = false
  const [child] = (await t.tasks.list({ name: 'fragile' })).items
  await t.tasks.retry(child!.id)
  await t.tasks.retry(handle.id)
  await t.runUntilIdle()
  expect(await handle.result()).toBe('fixed')
  expect((await t.tasks.list({ name: 'fragile' })).items).toHaveLength(1)
})

test("with 'collect' a parent gets the outcome of each child", async () => {
  const report = defineTask({
    name: 'report',
    input: Numbers,
    run: (numbers, ctx) => ctx.all('double', double, numbers, { onFailure: 'collect', concurrency: 2 }),
  })
  await using t = await openTestGleaner({ tasks: [report, double] })
  const handle = await t.enqueue(report, [1, -1, 3])
  await t.runUntilIdle()
  expect(await handle.result()).toMatchObject([
    { status: 'completed', result: 2 },
    { status: 'failed', error: { message: 'Error: -1 is negative' } },
    { status: 'completed', result: 6 },
  ])
})

test('waits at the same time end one by one, beside steps and sleeps', async () => {
  const order: string[] = []
  const slow = defineTask({
    name: 'slow',
    input: z.string(),
    async run(delay, ctx) {
      await ctx.sleep('a while', delay as '1h')
      return delay
    },
  })
  const parent = defineTask({
    name: 'parent',
    async run(_, ctx) {
      const some = ['2h', '1h'].map((delay) =>
        ctx.run(slow, delay).then(async (given) => ctx.step(`after ${given}`, () => order.push(given))),
      )
      await Promise.all(some)
      await ctx.sleep('rest', '1h')
      return 'done'
    },
  })
  await using t = await openTestGleaner({ tasks: [parent, slow] })
  const handle = await t.enqueue(parent)
  await t.runUntilIdle()
  await t.advance('10h')
  expect(await handle.result()).toBe('done')
  expect([...new Set(order)].sort()).toEqual(['1h', '2h'])
  expect(order).toHaveLength(2)
})

test('a parent and its children need one slot', async () => {
  const Depth = z.number()
  const nested: Task<number, number> = defineTask({
    name: 'nested',
    input: Depth,
    run: async (depth, ctx): Promise<number> => (depth === 0 ? 0 : 1 + (await ctx.run(nested, depth - 1))),
  })
  await using t = await openTestGleaner({ tasks: [nested], queues: { default: { concurrency: 1 } } })
  t.work({ concurrency: 1 })
  const handle = await t.enqueue(nested, 20)
  await t.runUntilIdle()
  expect(await handle.result()).toBe(20)
  const tree = await t.tasks.tree(handle.id)
  expect(tree).toMatchObject({
    task: { id: handle.id, status: 'completed' },
    flows: [{ flow: { total: 1, completed: 1 }, tasks: [{ parent: handle.id, flows: [{ tasks: [{}] }] }] }],
  })
})

test('more than a hundred levels of children are refused', async () => {
  const endless: Task<void, unknown> = defineTask({
    name: 'endless',
    run: (_, ctx): Promise<unknown> => ctx.run(endless),
  })
  await using t = await openTestGleaner({ tasks: [endless] })
  const handle = await t.enqueue(endless)
  await t.runUntilIdle()
  await expect(handle.result()).rejects.toMatchObject({ code: 'TASK_FAILED' })
  const { items } = await t.tasks.list({ name: 'endless', limit: 1000 })
  expect(items).toHaveLength(101)
  expect(items[0]!.error!.message).toContain('this task has 100 ancestors')
})

test('options that a child cannot have are refused', async () => {
  const refused: unknown[] = []
  const parent = defineTask({
    name: 'parent',
    async run(_, ctx) {
      const calls = [
        () => ctx.run(double, 1, { after: ['1'] } as object),
        () => ctx.all('x', double, [1], { concurrency: 0 }),
        () => ctx.all('x', double, 1 as never),
        () => ctx.all('x', double, [1], { onFailure: 'run' as never }),
        () => ctx.all('x', double, ['a' as never]),
      ]
      for (const call of calls) await call().catch((error: unknown) => refused.push(error))
    },
  })
  await using t = await openTestGleaner({ tasks: [parent, double] })
  await t.enqueue(parent)
  await t.runUntilIdle()
  expect(refused.map((error) => (error as { code: string }).code)).toEqual([
    'BAD_OPTION',
    'BAD_OPTION',
    'BAD_OPTION',
    'BAD_OPTION',
    'BAD_INPUT',
  ])
})

test('a row has children, and an edit of the row cancels them', async () => {
  const { defineDiscovery } = await import('../../src/index.ts')
  const albums = defineDiscovery({
    name: 'albums',
    table: 'albums',
    key: 'id',
    where: 'thumbs IS NULL',
    row: z.object({ id: z.number(), pages: z.number() }),
    run: async (row, ctx) => {
      const results = await ctx.all(
        'double',
        double,
        Array.from({ length: row.pages }, (_, i) => i),
      )
      return results.length
    },
    done: (count) => ({ thumbs: count }),
  })
  await using t = await openTestGleaner({
    tasks: [double],
    discoveries: [albums],
    setup: (db) => db.exec('CREATE TABLE albums (id INTEGER PRIMARY KEY, pages INTEGER, thumbs INTEGER)'),
  })
  t.db.exec('INSERT INTO albums VALUES (1, 3, NULL)')
  await t.runUntilIdle()
  expect(t.db.prepare('SELECT thumbs FROM albums').all()).toEqual([{ thumbs: 3 }])
  expect((await t.tasks.counts({ name: 'double' })).completed).toBe(3)
})
