import Database from 'better-sqlite3'
import { describe, expect, inject, onTestFinished, test } from 'vitest'
import { z } from 'zod'
import {
  type BatchContext,
  defineDiscovery,
  defineTask,
  type Gleaner,
  type GleanerOptions,
  type Handle,
  implement,
  PermanentError,
  ResourceError,
  RetryLater,
} from '../../src/index.ts'
import { Place } from '../store/postgres/place.ts'
import { takeSchema } from '../store/postgres-schemas.ts'
import { openTemp, tempDatabase } from '../temp-database.ts'
import { test as onManualTime } from '../testing/open-test.ts'

const input = z.object({ n: z.number(), tenant: z.string().optional() })
type Input = z.infer<typeof input>
type Send = (inputs: Input[], ctx: BatchContext) => unknown

/** A task whose calls are written down. */
function recorded(run: Send, { batch = {}, ...rest }: Record<string, any> = {}) {
  const calls: number[][] = []
  const send = defineTask({
    name: 'send',
    input,
    batch: { size: 100, wait: '20ms', ...batch },
    retry: { attempts: 1 },
    ...rest,
    run: (inputs, ctx) => {
      calls.push(inputs.map(({ n }) => n))
      return run(inputs, ctx) as number[]
    },
  })
  return { send, calls }
}

function numbers(count: number, more: object = {}): Input[] {
  return Array.from({ length: count }, (_, n) => ({ n, ...more }))
}

/** Throws while one of these is among the inputs. */
function poisoned(...bad: number[]): Send {
  return (inputs) => {
    const found = inputs.find(({ n }) => bad.includes(n))
    if (found !== undefined) throw new Error(`cannot send ${found.n}`)
    return inputs.map(({ n }) => n * 2)
  }
}

interface Engines {
  open(options: Omit<GleanerOptions, 'database'>): Promise<Gleaner>
  sql(text: string): Promise<any[]>
  /** The name of a table of the user's. */
  files: string
}

async function onSqlite(): Promise<Engines> {
  const path = tempDatabase()
  const db = new Database(path)
  db.pragma('journal_mode = WAL')
  db.pragma('busy_timeout = 5000')
  onTestFinished(() => void db.close())
  return {
    files: 'files',
    open: (options) => openTemp({ path, ...options }),
    async sql(text) {
      const statement = db.prepare(text)
      return statement.reader ? statement.all() : [statement.run()]
    },
  }
}

async function onPostgres(): Promise<Engines> {
  const place = new Place(await takeSchema(inject('postgresUrl')))
  onTestFinished(() => place.clear())
  return {
    files: `${place.schema}.files`,
    open: (options) => place.open(options),
    sql: (text) => place.rows(text),
  }
}

async function settled(handles: readonly Handle<unknown>[]): Promise<PromiseSettledResult<unknown>[]> {
  return Promise.allSettled(handles.map((handle) => handle.result({ timeout: '20s' })))
}

describe.each([
  ['SQLite', onSqlite],
  ['PostgreSQL', onPostgres],
] as const)('a batch handler on %s', (_name, engines) => {
  test('gets up to a hundred inputs in one call, whatever the concurrency, and each item has its result', async () => {
    const { send, calls } = recorded((inputs) => inputs.map(({ n }) => n * 2))
    const gleaner = await (await engines()).open({ tasks: [send] })
    const handles = await gleaner.enqueueMany(send, numbers(250))
    gleaner.work({ concurrency: 2 })
    const results = await Promise.all(handles.map((handle) => handle.result({ timeout: '20s' })))
    expect(results).toEqual(numbers(250).map(({ n }) => n * 2))
    expect(calls.map((call) => call.length)).toEqual([100, 100, 50])
    expect((await gleaner.tasks.counts()).completed).toBe(250)
  })

  test('that throws for one item is called 8 times more at most, and that item alone fails', async () => {
    for (const bad of [0, 63, 99]) {
      const { send, calls } = recorded(poisoned(bad))
      const gleaner = await (await engines()).open({ tasks: [send] })
      const handles = await gleaner.enqueueMany(send, numbers(100))
      gleaner.work()
      const results = await settled(handles)
      const failed = results.flatMap(({ status }, n) => (status === 'rejected' ? [n] : []))
      expect(failed).toEqual([bad])
      expect(await gleaner.tasks.get(handles[bad]!.id)).toMatchObject({
        status: 'failed',
        attempts: 1,
        error: { kind: 'error', message: `Error: cannot send ${bad}` },
      })
      expect(calls.length).toBeLessThanOrEqual(9)
      await gleaner.close()
    }
  })

  test('decides about each item: results, failures that are final, and others that come again', async () => {
    const { send } = recorded(
      (inputs, ctx) => {
        ctx.log.info('sending', { count: inputs.length })
        inputs.forEach(({ n }, i) => {
          if (n === 1) ctx.fail(i, new PermanentError('no such address'))
          if (n === 2 && ctx.items[i]!.attempt === 1) ctx.fail(i, new Error('greylisted'))
          if (n === 3) ctx.items[i]!.log.warn('slow')
        })
        return inputs.map(({ n }) => n)
      },
      { retry: { attempts: 2, base: '1ms', jitter: 0 } },
    )
    const gleaner = await (await engines()).open({ tasks: [send] })
    const handles = await gleaner.enqueueMany(send, numbers(4))
    gleaner.work()
    const results = await settled(handles)
    expect(results.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled', 'fulfilled'])
    const records = await Promise.all(handles.map(({ id }) => gleaner.tasks.get(id)))
    expect(records.map((task) => [task!.attempts, task!.error?.kind])).toEqual([
      [1, undefined],
      [1, 'permanent'],
      [2, undefined],
      [1, undefined],
    ])
    const lines = (await gleaner.tasks.logs(handles[3]!.id)).items.map(({ message }) => message)
    expect(lines).toEqual(['sending', 'slow'])
  })

  test('completes rows of a table in one call, and a row that fails stays alone', async () => {
    const { open, sql, files } = await engines()
    await sql(
      `CREATE TABLE ${files} (id INTEGER PRIMARY KEY, needs INTEGER NOT NULL DEFAULT 1, size INTEGER)`,
    )
    await sql(`INSERT INTO ${files} (id) VALUES ${numbers(60).map(({ n }) => `(${n})`)}`)
    const calls: number[] = []
    const measure = defineDiscovery({
      name: 'measure',
      table: files,
      key: 'id',
      where: 'needs = 1',
      retry: { attempts: 1 },
      batch: { size: 50, wait: '20ms' },
      run: async (rows) => {
        calls.push(rows.length)
        if (rows.some(({ id }) => Number(id) === 7)) throw new Error('cannot read 7')
        return rows.map(({ id }) => Number(id) * 10)
      },
      done: (size) => ({ needs: 0, size }),
    })
    const gleaner = await open({ discoveries: [measure] })
    const worker = gleaner.work({ concurrency: 1 })
    await worker.drained()
    expect(await sql(`SELECT id FROM ${files} WHERE needs = 1`)).toEqual([{ id: 7 }])
    expect(await sql(`SELECT size FROM ${files} WHERE id = 42`)).toEqual([{ size: 420 }])
    expect(await gleaner.discoveries.row('measure', '7')).toMatchObject({ state: 'quarantined' })
    expect(calls.length).toBeLessThanOrEqual(2 + 7)
  })

  test('commits the writes of one item with its completion, also if the call throws later', async () => {
    const { open, sql, files } = await engines()
    await sql(`CREATE TABLE ${files} (id INTEGER PRIMARY KEY)`)
    const { send, calls } = recorded(async (inputs, ctx) => {
      for (const [i, { n }] of inputs.entries()) {
        if (n === 2) throw new Error('no two')
        await ctx.items[i]!.complete(n, (tx: any) => {
          const insert = `INSERT INTO ${files} (id) VALUES (${n})`
          if (tx.prepare === undefined) return tx.query(insert).then(() => {})
          tx.prepare(insert).run()
        })
      }
      return inputs.map(() => 0)
    })
    const gleaner = await open({ tasks: [send] })
    const handles = await gleaner.enqueueMany(send, numbers(4))
    gleaner.work()
    const results = await settled(handles)
    expect(results.map(({ status }) => status)).toEqual(['fulfilled', 'fulfilled', 'rejected', 'fulfilled'])
    expect((await sql(`SELECT id FROM ${files} ORDER BY id`)).map(({ id }) => id)).toEqual([0, 1, 3])
    // What was completed is in no further call.
    expect(calls.flat().filter((n) => n < 2)).toEqual([0, 1])
  })
})

describe('the items of a call', () => {
  test('of one tenant are together, and those of others are not', async () => {
    const { send, calls } = recorded((inputs) => inputs.map(() => 0), {
      batch: { size: 3, by: ({ tenant }: Input) => tenant },
    })
    const gleaner = await openTemp({ tasks: [send] })
    const inputs = ['a', 'b', 'a', 'b', 'a', 'a'].map((tenant, n) => ({ n, tenant }))
    await gleaner.enqueueMany(send, inputs)
    await gleaner.work({ concurrency: 1 }).drained()
    expect(calls.map((call) => call.join()).sort()).toEqual(['0,2,4', '1,3', '5'])
  })

  test('are cancelled alone: the signal of the others, and of the call, stays quiet', async () => {
    const begun = Promise.withResolvers<BatchContext>()
    const release = Promise.withResolvers<void>()
    const { send } = recorded(async (inputs, ctx) => {
      begun.resolve(ctx)
      await release.promise
      return inputs.map(({ n }) => n)
    })
    const gleaner = await openTemp({ tasks: [send] })
    const handles = await gleaner.enqueueMany(send, numbers(3))
    gleaner.work()
    const ctx = await begun.promise
    const aborted = new Promise((resolve) => ctx.items[1]!.signal.addEventListener('abort', resolve))
    await handles[1]!.cancel()
    await aborted
    expect(ctx.items.map(({ signal }) => signal.aborted)).toEqual([false, true, false])
    expect(ctx.signal.aborted).toBe(false)
    release.resolve()
    expect((await settled(handles)).map(({ status }) => status)).toEqual([
      'fulfilled',
      'fulfilled',
      'fulfilled',
    ])
  })

  test('that were cancelled during a call that throws are left out of the next one', async () => {
    const begun = Promise.withResolvers<BatchContext>()
    const { send, calls } = recorded(async (inputs, ctx) => {
      begun.resolve(ctx)
      if (inputs.length === 3)
        await new Promise((_, no) => ctx.items[1]!.signal.addEventListener('abort', no))
      return inputs.map(({ n }) => n)
    })
    const gleaner = await openTemp({ tasks: [send] })
    const handles = await gleaner.enqueueMany(send, numbers(3))
    gleaner.work()
    await begun.promise
    await handles[1]!.cancel()
    expect((await settled(handles)).map(({ status }) => status)).toEqual([
      'fulfilled',
      'rejected',
      'fulfilled',
    ])
    expect((await gleaner.tasks.get(handles[1]!.id))!.status).toBe('cancelled')
    expect(calls).toEqual([
      [0, 1, 2],
      [0, 2],
    ])
  })

  test('have a time-out of their own, and the call goes on for the others', async () => {
    const { send } = recorded(
      async (inputs, ctx) => {
        await new Promise((resolve) => ctx.items[0]!.signal.addEventListener('abort', resolve))
        return inputs.map(({ n }, i) => {
          if (ctx.items[i]!.signal.aborted) ctx.fail(i, ctx.items[i]!.signal.reason)
          return n
        })
      },
      { timeout: '1m' },
    )
    const gleaner = await openTemp({ tasks: [send] })
    const short = await gleaner.enqueue(send, { n: 0 }, { timeout: '50ms' })
    const long = await gleaner.enqueue(send, { n: 1 })
    gleaner.work()
    expect(await long.result({ timeout: '20s' })).toBe(1)
    await expect(short.result()).rejects.toMatchObject({ kind: 'timeout' })
  })

  test('all fail with a clear error if there is not one result for each', async () => {
    const { send, calls } = recorded((inputs) => inputs.slice(1).map(() => 0), { retry: { attempts: 5 } })
    const gleaner = await openTemp({ tasks: [send] })
    const [first] = await gleaner.enqueueMany(send, numbers(3))
    await gleaner.work().drained()
    expect(await gleaner.tasks.get(first!.id)).toMatchObject({
      status: 'failed',
      attempts: 1,
      error: { kind: 'permanent', message: 'send: run returned 2 results for 3 inputs' },
    })
    expect(calls).toEqual([[0, 1, 2]])
  })

  test('come again together if the call asks for another time, and one broken resource counts once', async () => {
    let thrown: Error | null = new RetryLater(1)
    const { send, calls } = recorded(
      (inputs) => {
        const error = thrown
        thrown = error instanceof RetryLater ? new ResourceError('no connection') : null
        if (error !== null) throw error
        return inputs.map(({ n }) => n)
      },
      { retry: { attempts: 1, base: '1ms', jitter: 0 } },
    )
    const gleaner = await openTemp({ tasks: [send] })
    const handles = await gleaner.enqueueMany(send, numbers(20))
    // A worker that counted each item would give up.
    const worker = gleaner.work({ resourceErrorLimit: 2 })
    expect((await settled(handles)).every(({ status }) => status === 'fulfilled')).toBe(true)
    expect(calls.map(({ length }) => length)).toEqual([20, 20, 20])
    await worker.stop()
  })

  test('are found one by one when several of them are poison, and each good one completes', async () => {
    const bad = [3, 40, 41, 42, 97]
    const { send, calls } = recorded(poisoned(...bad))
    const gleaner = await openTemp({ tasks: [send] })
    const handles = await gleaner.enqueueMany(send, numbers(100))
    gleaner.work()
    const failed = (await settled(handles)).flatMap(({ status }, n) => (status === 'rejected' ? [n] : []))
    expect(failed).toEqual(bad)
    expect(calls.length).toBeLessThanOrEqual(1 + 2 * 8 + 100)
  })

  test('that failed only once together are all done, because none of them fails alone', async () => {
    let outage = true
    const { send, calls } = recorded((inputs) => {
      if (outage) {
        outage = false
        throw new Error('connection reset')
      }
      return inputs.map(({ n }) => n)
    })
    const gleaner = await openTemp({ tasks: [send] })
    const handles = await gleaner.enqueueMany(send, numbers(100))
    gleaner.work()
    expect((await settled(handles)).every(({ status }) => status === 'fulfilled')).toBe(true)
    expect(calls.length).toBeLessThanOrEqual(9)
  })

  test('go on beside other tasks, and take one slot', async () => {
    const release = Promise.withResolvers<void>()
    const { send } = recorded(async (inputs) => {
      await release.promise
      return inputs.map(({ n }) => n)
    })
    let [most, running, ran] = [0, 0, 0]
    const single = defineTask({
      name: 'single',
      run: async () => {
        running += 1
        most = Math.max(most, running)
        await new Promise(setImmediate)
        running -= 1
        ran += 1
        // The call ends while others are prefetched: its items end in one slot.
        if (ran === 100) release.resolve()
      },
    })
    const gleaner = await openTemp({ tasks: [send, single] })
    await gleaner.enqueueMany(send, numbers(50))
    await gleaner.enqueueMany(
      single,
      Array.from({ length: 600 }, () => undefined),
    )
    await gleaner.work({ concurrency: 3 }).drained()
    expect(most).toBeLessThanOrEqual(3)
    expect((await gleaner.tasks.counts()).completed).toBe(650)
  })

  test('that a worker has collected begin at once when it stops', async () => {
    const { send, calls } = recorded((inputs) => inputs.map(({ n }) => n), { batch: { wait: '1m' } })
    const gleaner = await openTemp({ tasks: [send] })
    const handles = await gleaner.enqueueMany(send, numbers(5))
    const started = new Promise((resolve) => gleaner.on('started', resolve))
    const worker = gleaner.work()
    await started
    await worker.stop()
    expect(calls).toEqual([[0, 1, 2, 3, 4]])
    expect((await settled(handles)).every(({ status }) => status === 'fulfilled')).toBe(true)
  })
})

onManualTime('a test decides when a batch that is not full begins', async ({ open }) => {
  const { send, calls } = recorded((inputs) => inputs.map(({ n }) => n), { batch: { wait: '10s' } })
  const t = await open({ tasks: [send] })
  await t.enqueueMany(send, numbers(3))
  await t.advance('5s')
  expect(calls).toEqual([])
  await t.advance('6s')
  expect(calls).toEqual([[0, 1, 2]])
})

test('what a batch may not be is refused, with a hint', () => {
  const define = (batch: unknown) => () => defineTask({ name: 'x', batch: batch as object, run: () => [] })
  for (const batch of [{ size: 0 }, { size: 1_001 }, { size: 1.5 }, { wait: '2m' }, { by: 'tenant' }, 7, []])
    expect(define(batch)).toThrow(expect.objectContaining({ code: 'BAD_DEFINITION' }))
  expect(define({ maxSize: 10 })).toThrow(/has no option "maxSize"/)
  const later = defineTask({ name: 'later', batch: {} })
  expect(() => implement(later, { run: () => undefined })).toThrow(/takes batches/)
  implement(later, { batch: { size: 10 }, run: (inputs) => inputs.map(() => undefined) })
})
