import type { StandardSchemaV1 } from '@standard-schema/spec'
import fc from 'fast-check'
import { describe, expect, inject, onTestFinished, test } from 'vitest'
import { defineTask, type Gleaner, openGleaner, RetryLater, type TaskRecord } from '../../src/index.ts'
import { giveBackSchema, takeSchema } from '../store/postgres-schemas.ts'
import { tempDatabase } from '../temp-database.ts'
import { hostileValues, type NamedHostile } from './hostile-values.ts'

/** Longer than any of it takes: a slot that is never freed shows as a wait without end. */
const WITHIN = '20s'
const RUNS = process.env.GLEANER_TORTURE === '1' ? 50 : 1

/** What the next tasks throw, log or return: values that no database can hold are handed over in memory. */
let values: readonly NamedHostile[] = []
const hostile = (input: unknown) => values[input as number]!.make()

/** A schema library that answers, throws or rejects with what it is told. */
const schema = (validate: (input: unknown) => unknown): StandardSchemaV1<number, number> => ({
  '~standard': { version: 1, vendor: 'hostile', validate: validate as never },
})
/** Called at enqueue, too, where it accepts. */
let isRunning = false
const atRun = (validate: (input: unknown) => unknown) =>
  schema((value) => (isRunning ? validate(value) : { value }))

const once = { retry: { attempts: 1 } }
const input = schema((value) => ({ value }))

/** Each fails, whatever the value is. */
const failing = [
  defineTask({
    name: 'throws',
    input,
    ...once,
    run: (n) => {
      throw hostile(n)
    },
  }),
  defineTask({
    name: 'rejects',
    input,
    ...once,
    run: async (n) => {
      throw hostile(n)
    },
  }),
  defineTask({
    name: 'throws-effects',
    input,
    ...once,
    run: (n, ctx) =>
      ctx.complete(1, () => {
        throw hostile(n)
      }),
  }),
  defineTask({
    name: 'asks-later',
    input,
    ...once,
    run: (n) => {
      throw new RetryLater(hostile(n) as never)
    },
  }),
  defineTask({
    name: 'schema-throws',
    input: atRun((n) => {
      throw hostile(n)
    }),
    ...once,
    run: () => {},
  }),
  defineTask({
    name: 'schema-rejects',
    input: atRun(async (n) => {
      throw hostile(n)
    }),
    ...once,
    run: () => {},
  }),
  defineTask({
    name: 'schema-issues',
    input: atRun((n) => ({ issues: [{ message: hostile(n), path: [hostile(n), { key: hostile(n) }] }] })),
    ...once,
    run: () => {},
  }),
]
/** Each ends, well or not. */
const ending = [
  defineTask({ name: 'returns', input, ...once, run: (n): unknown => hostile(n) }),
  defineTask({ name: 'schema-answers', input: atRun((n) => hostile(n)), ...once, run: () => {} }),
]
/** Each completes: a log line or a report of progress never fails a run. */
const completing = [
  defineTask({
    name: 'logs',
    input,
    ...once,
    run: (n, ctx) => {
      ctx.log.info(hostile(n) as string)
      ctx.log.warn('details', hostile(n) as object)
      ctx.log.error('details', { inside: hostile(n) })
    },
  }),
  defineTask({
    name: 'reports',
    input,
    ...once,
    run: async (n, ctx) => {
      // Neither is awaited: the rejection belongs to nobody.
      void ctx.progress(hostile(n) as number)
      void ctx.progress(Number.NaN)
      void ctx.progress(0.5, hostile(n) as string)
    },
  }),
]

const STORES = ['SQLite', 'PostgreSQL'] as const

async function open(store: (typeof STORES)[number]): Promise<Gleaner> {
  const listener = () => {
    throw values[0]!.make()
  }
  const options = {
    tasks: [...failing, ...ending, ...completing],
    hooks: { onFailure: listener },
  }
  const gleaner = await openGleaner({ database: await databaseOf(store), ...options })
  onTestFinished(() => gleaner.close())
  for (const event of ['started', 'completed', 'failed', 'log', 'progress', 'problem'] as const)
    gleaner.on(event, listener)
  return gleaner
}

async function databaseOf(store: (typeof STORES)[number]): Promise<string> {
  if (store === 'SQLite') return `sqlite:${tempDatabase()}`
  const url = inject('postgresUrl')
  const taken = await takeSchema(url)
  onTestFinished(() => giveBackSchema(taken))
  return `${url}?schema=${taken.name}`
}

/** Enqueues one of each task for each value, runs them, and answers what became of them, by task and value. */
async function runAll(gleaner: Gleaner, some: readonly NamedHostile[]): Promise<Map<string, TaskRecord>> {
  values = some
  isRunning = false
  const enqueued: { what: string; id: string; ended: Promise<unknown> }[] = []
  for (const task of [...failing, ...ending, ...completing]) {
    const handles = await gleaner.enqueueMany(task, some.map((_, n) => n) as never)
    for (const [n, handle] of handles.entries())
      enqueued.push({
        what: `${task.name}: ${some[n]!.name}`,
        id: handle.id,
        ended: handle.result({ timeout: WITHIN }),
      })
  }
  isRunning = true
  const worker = gleaner.work({ concurrency: 50 })
  await Promise.allSettled(enqueued.map(({ ended }) => ended))
  // A slot that was never freed would be waited for; with more of them than there are slots, nothing would have ended.
  await worker.stop({ drain: '1s' })
  const records = new Map<string, TaskRecord>()
  for (const { what, id } of enqueued) records.set(what, (await gleaner.tasks.get(id))!)
  return records
}

describe.each(STORES)('on %s', (store) => {
  test('whatever is thrown, logged or returned: one attempt ends with a short readable message, and the slot is free', async () => {
    const gleaner = await open(store)
    await fc.assert(
      fc.asyncProperty(hostileValues, async (some) => {
        const records = await runAll(gleaner, some)
        for (const [what, { name, status, attempts, error }] of records) {
          const isCompleted = completing.some((task) => task.name === name)
          const isFailed = failing.some((task) => task.name === name)
          expect({ what, attempts }).toEqual({ what, attempts: 1 })
          if (isCompleted) expect({ what, status, error }).toEqual({ what, status: 'completed', error: null })
          if (isFailed) expect({ what, status }).toEqual({ what, status: 'failed' })
          if (status !== 'failed') expect({ what, status }).toEqual({ what, status: 'completed' })
          else expect(error!.message, what).toMatch(/^[^\0]{2,2000}$/s)
        }
      }),
      { numRuns: RUNS, endOnFailure: true },
    )
  })
})
