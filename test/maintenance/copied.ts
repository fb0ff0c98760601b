import { randomUUID } from 'node:crypto'
import Database from 'better-sqlite3'
import pg from 'pg'
import { inject } from 'vitest'
import { z } from 'zod'
import { insideOf } from '../../src/engine/inside.ts'
import { defineDiscovery, defineTask, type GleanerOptions, PermanentError } from '../../src/index.ts'
import { type Place, test as plain } from '../journeys/place.ts'
import { openPostgresDatabase } from '../store/postgres-database.ts'
import { until } from '../until.ts'

/** A code of every kind of thing that a database can hold. It runs the same on both stores. */
export interface App {
  /** The user's own table, which the user moves himself. */
  files: string
  /** The input of each run, in their order. */
  runs: unknown[]
  options: Omit<GleanerOptions, 'database'>
  tasks: ReturnType<typeof tasksOf>
  begun: Begun
}

interface Begun {
  start: PromiseWithResolvers<void>
  end: PromiseWithResolvers<void>
}

function tasksOf(runs: unknown[], begun: Begun) {
  const run = async (input: unknown) => {
    runs.push(input)
    return input
  }
  return {
    note: defineTask({ name: 'note', input: z.string(), run }),
    told: defineTask({
      name: 'told',
      run: async (_, ctx) => {
        ctx.log.info('first', { a: 1 })
        ctx.log.warn('with a \0 in it')
        await ctx.progress(0.5, 'half')
        return { big: 'y'.repeat(5_000) }
      },
    }),
    fails: defineTask({
      name: 'fails',
      input: z.object({ forGood: z.boolean() }),
      retry: { attempts: 3, base: '1h' },
      run: async (input) => {
        throw input.forGood ? new PermanentError('for good') : new Error('for now')
      },
    }),
    // Begins, and fails when it is told to.
    begun: defineTask({
      name: 'begun',
      retry: { attempts: 2, base: '1h' },
      run: async (_, ctx) => {
        begun.start.resolve()
        await begun.end.promise
        throw new Error(`of attempt ${ctx.attempt}`)
      },
    }),
    shared: defineTask({
      name: 'shared',
      queue: 'shared',
      input: z.object({ tenant: z.string() }),
      limit: { key: (input) => input.tenant, concurrency: 1 },
      run,
    }),
    drawn: defineTask({ name: 'drawn', queue: 'drawn', input: z.string(), run }),
    last: defineTask({ name: 'last', queue: 'last', input: z.string(), run }),
    chain: defineTask({ name: 'chain', queue: 'chain', input: z.string(), order: () => 'all', run }),
    held: defineTask({ name: 'held', queue: 'held', input: z.string(), run }),
    nightly: defineTask({ name: 'nightly', every: '1h', run: async () => 'night' }),
  }
}

function appOf(): App {
  const files = `files_${randomUUID().replaceAll('-', '')}`
  const runs: unknown[] = []
  const begun = { start: Promise.withResolvers<void>(), end: Promise.withResolvers<void>() }
  const tasks = tasksOf(runs, begun)
  const tag = defineDiscovery({
    name: 'tag-files',
    table: files,
    key: 'id',
    where: 'needs_tagging = 1',
    retry: { attempts: 1 },
    run: async (row: Record<string, unknown>) => {
      if (row.path === 'bad') throw new Error('cannot be read')
      return row.path
    },
    done: () => ({ needs_tagging: 0 }),
  })
  return {
    files,
    runs,
    tasks,
    begun,
    options: {
      tasks: Object.values(tasks),
      discoveries: [tag],
      queues: {
        drawn: { strategy: 'weighted' },
        last: { strategy: 'lifo' },
        shared: { concurrency: 3, rate: { count: 1_000, per: '1s' } },
      },
    },
  }
}

/** A table in either database, with one good row and one that fails. */
const filesTable = (name: string, type: string) => [
  `CREATE TABLE ${name} (id ${type} PRIMARY KEY, path text NOT NULL, needs_tagging integer NOT NULL DEFAULT 1)`,
  `CREATE INDEX ${name}_left ON ${name} (id) WHERE needs_tagging = 1`,
  `INSERT INTO ${name} (id, path) VALUES (1, 'good'), (2, 'bad')`,
]

/** Something in every state, through the public door alone. */
export async function fill(place: Place, { files, runs, options, tasks, begun }: App): Promise<void> {
  const db = new Database(place.file)
  for (const sql of filesTable(files, 'integer')) db.exec(sql)
  db.close()
  const gleaner = await place.open(options)
  const { note, told, fails, shared, drawn, last, held } = tasks

  const worker = gleaner.work()
  const gone = await gleaner.enqueue(note, 'gone', { key: 'once', keyScope: 'forever' })
  await gone.result()
  // Its key outlives it.
  await gleaner.maintenance.prune({ completed: 0 })
  await gleaner.enqueue(told)
  await gleaner.enqueue(fails, { forGood: true })
  await gleaner.enqueue(fails, { forGood: false })
  await gleaner.enqueue(drawn, 'early')
  await gleaner.enqueue(tasks.begun, undefined, { key: 'busy' })
  await begun.start.promise
  // It waits for the one that runs, which will back off.
  await gleaner.enqueue(tasks.begun, undefined, { key: 'busy', debounce: '1h' })
  begun.end.resolve()
  await worker.drained()
  await until('the bad row is put aside', async () => {
    return (await gleaner.discoveries.rows('tag-files', { state: 'quarantined' })).items.length === 1
  })
  await worker.stop()
  runs.length = 0

  await gleaner.enqueueMany(note, ['a', 'b', 'c'], { priority: 5 })
  await gleaner.enqueue(note, 'first', { priority: 1 })
  await gleaner.enqueue(note, 'x'.repeat(50_000), { priority: 6 })
  await gleaner.enqueue(note, 'keyed', { key: 'one' })
  await gleaner.enqueue(note, 'calm', { key: 'calm', throttle: '1h' })
  await gleaner.enqueue(note, 'much later', { runAfter: '1h' })
  await (await gleaner.enqueue(note, 'cancelled')).cancel()
  for (const tenant of ['a', 'a', 'b']) await gleaner.enqueue(shared, { tenant })
  for (let i = 0; i < 20; i++) await gleaner.enqueue(drawn, `drawn ${i}`, { priority: 1 + i * 10 })
  for (const input of ['last 1', 'last 2']) await gleaner.enqueue(last, input)
  for (const input of ['chain 1', 'chain 2', 'chain 3'])
    await gleaner.enqueue(tasks.chain, input, { priority: input === 'chain 3' ? 1 : 900 })
  await gleaner.enqueue(held, 'held')
  await gleaner.queues.pause('held')
  await gleaner.schedules.trigger('nightly')
  await gleaner.schedules.pause('nightly')
  // The last id that was given away is not among those that are left.
  const removed = await gleaner.enqueue(note, 'removed')
  await gleaner.tasks.cancel(removed.id)
  await gleaner.tasks.remove(removed.id)
  await insideOf(gleaner).store.admin.noteAction({
    action: 'tasks.retry',
    target: gone.id,
    role: 'operator',
    user: null,
    address: null,
    details: { all: true },
  })
  await gleaner.close()
}

/** `app` is filled into a SQLite file; `to` is an empty schema beside the user's own table. */
export const test = plain.extend<{ app: App; to: string }>({
  app: async ({ place }, use) => {
    const app = appOf()
    await fill(place, app)
    await use(app)
  },
  to: async ({ place, app }, use) => {
    const target = await openPostgresDatabase()
    const users = new pg.Client({ connectionString: inject('postgresUrl') })
    await users.connect()
    for (const sql of filesTable(app.files, 'bigint')) await users.query(sql)
    await use(`${target.url}?schema=${target.schema}`)
    // Whoever still has it open writes something when he leaves.
    await place.clear()
    await users.query(`DROP TABLE ${app.files}`)
    await users.end()
    await target.destroy()
  },
})
