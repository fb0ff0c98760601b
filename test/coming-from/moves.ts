import assert from 'node:assert/strict'
import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import Database from 'better-sqlite3'
import pg from 'pg'
import { openGleaner, type TaskRecord } from '../../src/index.ts'
import { freePort } from '../free-port.ts'
import { until } from '../until.ts'

export interface Ground {
  /** A folder of its own, in which the scripts run. */
  scratch: string
  /** An empty PostgreSQL server. */
  postgres: string
  /** Runs the script, and answers how many jobs it says that it moved. */
  moveNow(env: Record<string, string>): Promise<number>
}

const DAY_MS = 86_400_000

/** Fills the queue, moves what waits twice, and checks what arrived. Answers what a person should read. */
export const moves: Record<string, (ground: Ground) => Promise<string>> = {
  async 'move-from-pg-boss.ts'({ postgres, moveNow }) {
    const { PgBoss } = await peer('pg-boss')
    const boss = new PgBoss({ connectionString: postgres, schedule: false })
    boss.on('error', (error: unknown) => console.error(error))
    await boss.start()
    await boss.createQueue('mail.send')
    await boss.createQueue('other')
    await boss.insert('mail.send', manyOf(1_200))
    await boss.send('mail.send', { to: 'first' }, { priority: 20, retryLimit: 6 })
    await boss.send('mail.send', { to: 'later' }, { startAfter: 86_400 })
    await boss.send('other', { to: 'stays' })
    const [active] = await boss.fetch('mail.send')
    assert.equal(active.data.to, 'first', 'the job of the highest priority is active')

    assert.equal(await moveNow({ DATABASE_URL: postgres }), 1_201)
    await boss.fail('mail.send', active.id)
    assert.equal(await moveNow({ DATABASE_URL: postgres }), 1, 'what was active moves later')
    assert.equal(await moveNow({ DATABASE_URL: postgres }), 0)
    const left = await query(postgres, 'SELECT name FROM pgboss.job')
    assert.deepEqual(left, [{ name: 'other' }])
    await boss.stop({ graceful: false })

    const tasks = await allTasks(postgres)
    assert.equal(tasks.length, 1_202)
    const first = tasks.find(({ input }) => to(input) === 'first')!
    assert.deepEqual([first.priority, first.maxAttempts], [80, 6])
    const later = tasks.find(({ input }) => to(input) === 'later')!
    assert.equal(later.status, 'scheduled')
    assert.ok(Math.abs(later.runAfter! - Date.now() - DAY_MS) < DAY_MS / 24)
    return '1 202 jobs moved, in three runs'
  },

  async 'move-from-graphile-worker.ts'({ postgres, moveNow }) {
    const url = await ownDatabase(postgres, 'graphile')
    const { makeWorkerUtils, Logger } = await peer('graphile-worker')
    const utils = await makeWorkerUtils({ connectionString: url, logger: new Logger(() => () => {}) })
    await utils.migrate()
    await utils.addJobs(manyOf(700).map(({ data }) => ({ identifier: 'mail.send', payload: data })))
    await utils.addJob('mail.send', { to: 'keyed' }, { jobKey: 'k', priority: -20, maxAttempts: 4 })
    await utils.addJob('mail.send', { to: 'later' }, { runAt: new Date(Date.now() + DAY_MS) })
    await utils.addJob('other', { to: 'stays' })
    const hold = `UPDATE graphile_worker._private_jobs SET locked_at = $1, locked_by = $2 WHERE payload->>'to' = '5'`
    await query(url, hold, [new Date(), 'a-worker'])

    assert.equal(await moveNow({ DATABASE_URL: url }), 701)
    await query(url, hold, [null, null])
    assert.equal(await moveNow({ DATABASE_URL: url }), 1, 'what a worker held moves later')
    const left = await query(url, 'SELECT task_identifier FROM graphile_worker.jobs')
    assert.deepEqual(left, [{ task_identifier: 'other' }])
    await utils.release()

    const tasks = await allTasks(url)
    assert.equal(tasks.length, 702)
    const keyed = tasks.find(({ input }) => to(input) === 'keyed')!
    assert.deepEqual([keyed.key, keyed.priority, keyed.maxAttempts], ['k', 80, 4])
    assert.equal(tasks.filter(({ status }) => status === 'scheduled').length, 1)
    return '702 jobs moved, in two runs'
  },

  async 'move-from-agenda.ts'({ postgres, scratch, moveNow }) {
    const url = await ownDatabase(postgres, 'agenda')
    const { Agenda } = await peer('agenda')
    const { PostgresBackend } = await peer('@agendajs/postgres-backend')
    const agenda = new Agenda({ backend: new PostgresBackend({ connectionString: url }) })
    await agenda.ready
    for (let i = 0; i < 100; i++) await agenda.now('mail.send', { to: `${i}` })
    await agenda.schedule(new Date(Date.now() + DAY_MS), 'mail.send', { to: 'later' })
    await agenda.every('1 day', 'mail.send', { to: 'recurs' })

    const file = `sqlite:${join(scratch, 'agenda.db')}`
    const env = { DATABASE_URL: url, GLEANER_DATABASE: file }
    assert.equal(await moveNow(env), 101)
    assert.equal(await moveNow(env), 0)
    const { jobs } = await agenda.queryJobs({})
    assert.deepEqual(
      jobs.map(({ data }: { data: unknown }) => to(data)),
      ['recurs'],
    )
    await agenda.stop()
    const tasks = await allTasks(file)
    assert.equal(tasks.length, 101)
    assert.equal(tasks.filter(({ status }) => status === 'scheduled').length, 1)
    return '101 jobs moved'
  },

  async 'move-from-liteque.ts'({ scratch, moveNow }) {
    const { buildDBClient, SqliteQueue } = await peer('liteque')
    const file = join(scratch, 'queue.db')
    const db = buildDBClient(file, { runMigrations: true })
    const queue = new SqliteQueue('mail.send', db, {
      defaultJobArgs: { numRetries: 2 },
      keepFailedJobs: true,
    })
    for (let i = 0; i < 100; i++) await queue.enqueue({ to: `${i}` })
    await queue.enqueue({ to: 'first' }, { priority: -5, numRetries: 7 })
    await queue.enqueue({ to: 'later' }, { delayMs: DAY_MS })
    await new SqliteQueue('other', db, { defaultJobArgs: { numRetries: 1 } }).enqueue({ to: 'stays' })

    const database = `sqlite:${join(scratch, 'liteque.db')}`
    const env = { LITEQUE_FILE: file, GLEANER_DATABASE: database }
    assert.equal(await moveNow(env), 102)
    assert.equal(await moveNow(env), 0)
    const left = new Database(file, { readonly: true })
    assert.deepEqual(left.prepare('SELECT queue FROM tasks').all(), [{ queue: 'other' }])
    left.close()
    const tasks = await allTasks(database)
    assert.equal(tasks.length, 102)
    const first = tasks.find(({ input }) => to(input) === 'first')!
    assert.deepEqual([first.priority, first.maxAttempts], [95, 8])
    const later = tasks.find(({ input }) => to(input) === 'later')!
    assert.ok(Math.abs(later.runAfter! - Date.now() - DAY_MS) < DAY_MS / 24)
    return '102 jobs moved'
  },

  async 'move-from-bullmq.ts'({ scratch, moveNow }) {
    if (!hasRedis()) return 'NOT RUN: there is no redis-server on the PATH'
    const port = await freePort()
    const redis = spawn('redis-server', ['--port', `${port}`, '--save', '', '--dir', scratch], {
      stdio: 'ignore',
    })
    const ended = once(redis, 'exit')
    try {
      const url = `redis://127.0.0.1:${port}`
      const { Queue } = await peer('bullmq')
      const queue = new Queue('mail', { connection: { url } })
      queue.on('error', () => {})
      await until('Redis answers', () =>
        queue.waitUntilReady().then(
          () => true,
          () => false,
        ),
      )
      await queue.addBulk(manyOf(700).map(({ data }) => ({ name: 'mail.send', data, opts: { attempts: 4 } })))
      await queue.add('mail.send', { to: 'later' }, { delay: DAY_MS })
      await queue.add('mail.send', { to: 'ranked' }, { priority: 7 })
      await queue.addBulk(manyOf(600).map(({ data }) => ({ name: 'unknown', data })))
      await queue.upsertJobScheduler(
        'daily',
        { every: DAY_MS },
        { name: 'mail.send', data: { to: 'recurs' } },
      )

      const database = `sqlite:${join(scratch, 'bullmq.db')}`
      const env = { REDIS_URL: url, GLEANER_DATABASE: database }
      assert.equal(await moveNow(env), 702)
      assert.equal(await moveNow(env), 0)
      const left = await queue.getJobCounts('waiting', 'prioritized', 'delayed')
      assert.deepEqual(left.waiting + left.prioritized + left.delayed, 601)
      await queue.close()
      const tasks = await allTasks(database)
      assert.equal(tasks.length, 702)
      assert.equal(tasks.find(({ input }) => to(input) === 'ranked')!.priority, 107)
      assert.equal(tasks.find(({ input }) => to(input) === '3')!.maxAttempts, 4)
      assert.equal(tasks.filter(({ status }) => status === 'scheduled').length, 1)
      return '702 jobs moved, 601 of no task left'
    } finally {
      redis.kill('SIGTERM')
      await ended
    }
  },
}

function manyOf(count: number): { data: { to: string } }[] {
  return Array.from({ length: count }, (_, i) => ({ data: { to: `${i}` } }))
}

/** A package of this folder. */
async function peer(name: string): Promise<any> {
  const require = createRequire(join(import.meta.dirname, 'package.json'))
  return import(pathToFileURL(require.resolve(name)).href)
}

async function query(url: string, text: string, values: unknown[] = []): Promise<unknown[]> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  const { rows } = await client.query(text, values)
  await client.end()
  return rows
}

async function ownDatabase(url: string, name: string): Promise<string> {
  await query(url, `CREATE DATABASE ${name}`)
  return Object.assign(new URL(url), { pathname: `/${name}` }).href
}

async function allTasks(database: string): Promise<TaskRecord[]> {
  const gleaner = await openGleaner({ database })
  const tasks: TaskRecord[] = []
  let cursor: string | null = null
  do {
    const page: { items: TaskRecord[]; next: string | null } = await gleaner.tasks.list({
      limit: 500,
      ...(cursor === null ? {} : { cursor }),
    })
    tasks.push(...page.items)
    cursor = page.next
  } while (cursor !== null)
  await gleaner.close()
  return tasks
}

function to(input: unknown): unknown {
  return (input as { to?: unknown }).to
}

function hasRedis(): boolean {
  try {
    execFileSync('redis-server', ['--version'], { stdio: 'ignore' })
    return true
  } catch {
    return false
  }
}
