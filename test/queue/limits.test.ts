import Database from 'better-sqlite3'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { defineTask, InputError, type LimitOptions } from '../../src/index.ts'
import { openTestGleaner, type SqliteConnection } from '../../src/testing/index.ts'
import { openTemp, tempDatabase } from '../temp-database.ts'

const input = z.object({ tenant: z.any() })
const limit = { key: (given: { tenant?: any }): string => given.tenant, concurrency: 1 }

function countOf(db: SqliteConnection, table: string): number {
  return db.prepare(`SELECT count(*) AS n FROM gleaner_${table}`).get().n
}

describe('a limit is refused', () => {
  const key = () => 'a'
  test.each([
    ['a limit that is none', 5, 'Use an object'],
    ['no key', { concurrency: 1 }, 'Give a function'],
    ['nothing to limit', { key }, 'limits nothing'],
    ['concurrency 0', { key, concurrency: 0 }, 'from 1 to'],
    ['concurrency 1.5', { key, concurrency: 1.5 }, 'from 1 to'],
    ['a rate without a time', { key, rate: { count: 1 } }, 'count: 100'],
    ['a rate of none', { key, rate: { count: 0, per: '1s' } }, 'from 1 to'],
    ['a rate in no time', { key, rate: { count: 1, per: 0 } }, 'from 1 ms'],
    ['an option that does not exist', { key, concurrency: 1, per: 'x' }, 'There are'],
  ])('in a definition: %s', (_what, given, hint) => {
    const define = () => defineTask({ name: 'task', limit: given as LimitOptions<undefined> })
    expect(define).toThrow(InputError)
    expect(define).toThrow(
      expect.objectContaining({ code: 'BAD_OPTION', hint: expect.stringContaining(hint) }),
    )
  })

  test.each([
    [{ concurrency: 0 }, 'queues.ml.concurrency'],
    [{ concurrency: '4' }, 'queues.ml.concurrency'],
    [{ rate: 100 }, 'queues.ml.rate'],
    [{ rate: { count: 1, per: 0 } }, 'queues.ml.rate.per'],
  ])('of a queue: %j', async (given, words) => {
    const error = await openTemp({ queues: { ml: given as never } }).catch((failed) => failed)
    expect(error).toMatchObject({ code: 'BAD_OPTION' })
    expect(error.message).toContain(words)
  })

  const fails = () => {
    throw new Error('no tenant')
  }
  test.each([
    ['nothing', () => undefined],
    ['null', () => null],
    ['an object', () => ({})],
    ['an empty text', () => ''],
    ['a long text', () => 'k'.repeat(201)],
    ['NaN', () => Number.NaN],
    ['a promise', async () => 'a'],
    ['an error', fails],
  ])('when the key is %s: nothing is enqueued', async (_what, key) => {
    const task = defineTask({ name: 'task', input, limit: { key: key as () => string, concurrency: 1 } })
    const path = tempDatabase()
    const gleaner = await openTemp({ path, tasks: [task] })
    const refused = expect.objectContaining({ code: 'BAD_KEY', hint: expect.stringContaining('limit.key') })
    await expect(gleaner.enqueue(task, { tenant: 1 })).rejects.toEqual(refused)
    await expect(gleaner.enqueueMany(task, [{ tenant: 1 }])).rejects.toMatchObject({ code: 'BAD_KEY' })
    const db = new Database(path)
    const within = db.transaction(() => gleaner.within(db).enqueue(task, { tenant: 1 }))
    expect(() => within.immediate()).toThrow(refused)
    db.close()
    expect((await gleaner.tasks.list()).items).toEqual([])
  })
})

describe('a key', () => {
  test('is taken from the input as run sees it, defaults included', async () => {
    const seen: unknown[] = []
    const schema = z.object({ tenant: z.string().default('nobody') })
    const task = defineTask({
      name: 'task',
      input: schema,
      limit: {
        key({ tenant }) {
          seen.push(tenant)
          return tenant
        },
        concurrency: 1,
      },
    })
    const gleaner = await openTemp({ tasks: [task] })
    await gleaner.enqueue(task, {})
    expect(seen).toEqual(['nobody'])
  })

  test('is the same for a number and the text of it', async () => {
    await using t = await openTestGleaner({
      tasks: [defineTask({ name: 'task', input, limit, run: () => {} })],
    })
    const task = defineTask({ name: 'task', input, limit })
    await t.enqueue(task, { tenant: 7 })
    await t.enqueue(task, { tenant: '7' })
    const gates = t.db.prepare('SELECT count(*) AS n FROM gleaner_gates').get()
    expect(gates).toEqual({ n: 1 })
  })

  test('that no task refers to any more is gone an hour later', async () => {
    const task = defineTask({ name: 'task', input, limit, run: () => {} })
    await using t = await openTestGleaner({ tasks: [task] })
    const { id } = await t.enqueue(task, { tenant: 'a' })
    const rows = () => ['gates', 'turnstiles', 'lanes'].map((table) => countOf(t.db, table))
    await t.runUntilIdle()
    expect(rows()).toEqual([1, 1, 2])
    await t.tasks.remove(id)
    await t.advance('61m')
    expect(rows()).toEqual([0, 0, 1])
  })

  test('holds for what is enqueued by a handler, by a schedule and by hand alike', async () => {
    let running = 0
    let most = 0
    const task = defineTask({
      name: 'task',
      input,
      every: '10s',
      everyInput: { tenant: 'a' },
      limit,
      async run(_, ctx) {
        running += 1
        most = Math.max(most, running)
        if (ctx.attempt === 1 && Number(ctx.id) <= 2) await ctx.enqueue(task, { tenant: 'a' })
        await t.sleep('15s')
        running -= 1
      },
    })
    await using t = await openTestGleaner({ tasks: [task] })
    await t.enqueueMany(task, [{ tenant: 'a' }, { tenant: 'a' }])
    await t.advance('3m')
    const [first] = await t.completed(task)
    await t.tasks.retry(first!.id)
    await t.advance('2m')
    expect(most).toBe(1)
    expect((await t.completed(task)).length).toBeGreaterThan(5)
  })
})

describe('drained', () => {
  test('awaits what its own items free a slot for', async () => {
    let runs = 0
    const task = defineTask({
      name: 'task',
      queue: 'narrow',
      async run() {
        runs += 1
      },
    })
    const gleaner = await openTemp({ tasks: [task], queues: { narrow: { concurrency: 1 } } })
    await gleaner.enqueueMany(task, Array(20).fill(undefined))
    await gleaner.work().drained()
    expect(runs).toBe(20)
  })

  test('does not await what a limit holds back, unless asked to', async () => {
    let runs = 0
    const task = defineTask({ name: 'task', queue: 'rated', run: () => void runs++ })
    const rated = { rated: { rate: { count: 2, per: '300ms' } } } as const
    const gleaner = await openTemp({ tasks: [task], queues: rated })
    await gleaner.enqueueMany(task, Array(5).fill(undefined))
    const worker = gleaner.work()
    await worker.drained()
    expect(runs).toBe(2)
    await worker.drained({ includeDelayed: true })
    expect(runs).toBe(5)
  })
})

test('a queue that is named without a limit keeps the one it has; null takes it away', async () => {
  const path = tempDatabase()
  const limits = () => {
    const db = new Database(path)
    const rows = db.prepare('SELECT scope, concurrency, rate_count FROM gleaner_limits ORDER BY scope').all()
    db.close()
    return rows
  }
  const open = async (queues: Parameters<typeof openTemp>[0]['queues']) =>
    (await openTemp({ path, queues })).close()
  await open({ ml: { concurrency: 4, rate: { count: 100, per: '1s' } } })
  await open({ ml: { strategy: 'fifo' } })
  expect(limits()).toEqual([{ scope: 'queue/ml', concurrency: 4, rate_count: 100 }])
  await open({ ml: { concurrency: 2 } })
  expect(limits()).toEqual([{ scope: 'queue/ml', concurrency: 2, rate_count: null }])
  await open({ ml: { concurrency: null } })
  expect(limits()).toEqual([])
})

test('a minute of a rate is what it says, second by second', async () => {
  const startedAt: number[] = []
  const task = defineTask({ name: 'task', queue: 'rated', run: () => void startedAt.push(t.now()) })
  await using t = await openTestGleaner({
    tasks: [task],
    queues: { rated: { rate: { count: 100, per: '1s' } } },
  })
  await t.enqueueMany(task, Array(6_500).fill(undefined))
  await t.advance('59.999s')
  expect(startedAt.length).toBeGreaterThanOrEqual(5_700)
  expect(startedAt.length).toBeLessThanOrEqual(6_000)
  const closest = Math.min(...startedAt.slice(100).map((at, i) => at - startedAt[i]!))
  expect(closest).toBeGreaterThanOrEqual(1_000)
})

test('of 1000 keys, the quiet ones wait no longer because one has a long backlog', async () => {
  const [keys, noisy] = [1_000, 3_000]
  const place = async (backlog: number) => {
    const order: string[] = []
    const task = defineTask({
      name: 'task',
      input: z.string(),
      limit: { key: (tenant) => tenant, concurrency: 2 },
      run: (tenant) => void order.push(tenant),
    })
    await using t = await openTestGleaner({ tasks: [task], runLimit: 100_000 })
    await t.enqueueMany(task, Array(backlog).fill('noisy'))
    const quiet = Array.from({ length: keys - 1 }, (_, i) => `quiet ${i}`)
    await t.enqueueMany(task, [...quiet, ...quiet])
    await t.runUntilIdle()
    // How many started before the last quiet one.
    return order.findLastIndex((tenant) => tenant !== 'noisy')
  }
  const alone = await place(0)
  const beside = await place(noisy)
  expect(beside).toBeLessThanOrEqual(2 * alone)
})
