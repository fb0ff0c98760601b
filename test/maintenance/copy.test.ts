import Database from 'better-sqlite3'
import pg from 'pg'
import { describe, expect, onTestFinished } from 'vitest'
import type { Gleaner, TaskRecord, TaskStatus } from '../../src/index.ts'
import { copyDatabase } from '../../src/maintenance/copy.ts'
import { identifySelf } from '../../src/process-identity.ts'
import { COPIED_TABLES, NOT_COPIED } from '../../src/store/copied-tables.ts'
import { patient } from '../journeys/tasks.ts'
import { openPostgresDatabase } from '../store/postgres-database.ts'
import { until } from '../until.ts'
import { test } from './copied.ts'

const STATUSES: readonly TaskStatus[] = ['scheduled', 'queued', 'running', 'completed', 'failed', 'cancelled']

/** All that somebody could ask it. */
async function allOf(gleaner: Gleaner) {
  const lists: Record<string, TaskRecord[]> = {}
  for (const status of STATUSES) lists[status] = (await gleaner.tasks.list({ status, limit: 100 })).items
  const ids = Object.values(lists).flatMap((tasks) => tasks.map(({ id }) => id))
  const each = await Promise.all(
    ids.map(async (id) => ({
      task: await gleaner.tasks.get(id),
      logs: (await gleaner.tasks.logs(id)).items,
      attempts: await gleaner.tasks.attempts(id),
    })),
  )
  return {
    lists,
    each,
    counts: await gleaner.tasks.counts(),
    queues: await gleaner.queues.list(),
    schedules: await gleaner.schedules.list(),
    quarantined: (await gleaner.discoveries.rows('tag-files', { state: 'quarantined' })).items,
  }
}

/** No text of PostgreSQL holds a NUL. */
const withoutNul = (value: unknown) => JSON.parse(JSON.stringify(value).replaceAll('\\u0000', '\ufffd'))

/** A connection of the user's own, to the tables of the target. */
async function connectedTo(to: string): Promise<pg.Client> {
  const users = new pg.Client({ connectionString: to })
  await users.connect()
  onTestFinished(() => users.end())
  await users.query(`SET search_path = ${new URL(to).searchParams.get('schema')}`)
  return users
}

describe('copying a SQLite database to PostgreSQL', () => {
  test('takes all of it along; what waited is done once and in its order, and numbers go on', async ({
    place,
    app,
    to,
  }) => {
    const before = await place.open()
    const was = await allOf(before)
    await before.close()
    const progress: [number, number][] = []
    const copied = await copyDatabase({
      from: place.database,
      to,
      onProgress: ({ copied, total }) => progress.push([copied, total]),
    })
    expect(copied).toMatchObject({
      dryRun: false,
      tasks: { completed: 2, failed: 1, cancelled: 1, scheduled: 4, queued: was.counts.queued },
      tables: { forever_keys: 1, throttles: 1, ledger: 1, logs: 2, actions: 1, schedules: 1 },
    })
    const { race } = place.connect().prepare(`SELECT race FROM gleaner_queues WHERE race > 0`).get() as {
      race: number
    }
    const races = await (await connectedTo(to)).query('SELECT queue, moment::float FROM races')
    expect(races.rows).toEqual([{ queue: 'drawn', moment: race }])
    expect(progress.at(-1)![0]).toBe(progress.at(-1)![1])

    const after = await place.open({ database: to })
    expect(await allOf(after)).toEqual(withoutNul(was))
    expect(await after.maintenance.check()).toEqual([])
    await after.close()

    const gleaner = await place.open({ database: to, ...app.options })
    const { note } = app.tasks
    expect(await gleaner.enqueue(note, 'again', { key: 'once', keyScope: 'forever' })).toMatchObject({
      created: false,
    })
    expect(await gleaner.enqueue(note, 'again', { key: 'one' })).toMatchObject({ created: false })
    const next = await gleaner.enqueue(note, 'next', { priority: 1000 })
    const highest = Math.max(...was.each.map(({ task }) => Number(task!.id)))
    // The highest of all was removed.
    expect(Number(next.id)).toBe(highest + 2)

    const worker = gleaner.work({ concurrency: 1 })
    await worker.drained()
    const waited = was.lists
      .queued!.filter(({ queue }) => queue !== 'held')
      .map(({ id, name }) => ({ name, input: was.each.find(({ task }) => task?.id === id)!.task!.input }))
    const ofQueue = (queue: string) => waited.filter(({ name }) => name === queue).map(({ input }) => input)
    for (const name of ['drawn', 'last', 'chain', 'shared', 'note']) {
      const mine = ofQueue(name)
      const runs = app.runs.filter((input) =>
        mine.some((one) => JSON.stringify(one) === JSON.stringify(input)),
      )
      // The keys of a limit take turns.
      if (name === 'shared') expect(runs).toHaveLength(mine.length)
      // Whatever their priority.
      else if (name === 'chain') expect(runs).toEqual(['chain 1', 'chain 2', 'chain 3'])
      else expect(runs).toEqual(mine)
    }
    expect(await gleaner.tasks.counts()).toMatchObject({ queued: 1, scheduled: 4, running: 0, failed: 1 })
    expect(Number((await gleaner.tasks.attempts(next.id))[0]!.attempt)).toBe(1)
    expect(await gleaner.maintenance.check()).toEqual([])
  })

  test('keeps rows quarantined, until they are edited there', async ({ place, app, to }) => {
    await copyDatabase({ from: place.database, to })
    const gleaner = await place.open({ database: to, ...app.options, timings: { repair: '50ms' } })
    const quarantined = async () =>
      (await gleaner.discoveries.rows('tag-files', { state: 'quarantined' })).items.map(({ key }) => key)
    expect(await quarantined()).toEqual(['2'])
    await gleaner.work().drained()
    expect(await quarantined()).toEqual(['2'])
    const users = await connectedTo(to)
    await until('the entry knows its row', async () => {
      return (await users.query('SELECT row_version FROM ledger')).rows[0].row_version !== null
    })
    expect(await quarantined()).toEqual(['2'])
    await users.query(`UPDATE public.${app.files} SET path = 'mended' WHERE id = 2`)
    await until('it was done', async () => {
      const left = await users.query(`SELECT 1 FROM public.${app.files} WHERE needs_tagging = 1`)
      return left.rowCount === 0
    })
  })

  test('is refused while a worker lives there, and says who', async ({ place, app, to }) => {
    const gleaner = await place.open(app.options)
    gleaner.work({ queues: ['nothing'], discoveries: [] })
    await until('its session is open', async () => (await gleaner.workers.list()).length > 0)
    for (const dryRun of [true, false])
      await expect(copyDatabase({ from: place.database, to, dryRun })).rejects.toMatchObject({
        code: 'STORE_IN_USE',
        message: expect.stringContaining(`pid ${process.pid}`),
      })
    await gleaner.pause()
    await gleaner.close()
    const { host, boot, pid, startTime } = identifySelf()
    place
      .connect()
      .prepare(`INSERT INTO gleaner_supervisors (name, term, host, boot, pid, start_time, since, seen_at)
                VALUES ('web', 1, ?, ?, ?, ?, 0, 0)`)
      .run(host, boot, pid, startTime)
    await expect(copyDatabase({ from: place.database, to })).rejects.toMatchObject({
      code: 'STORE_IN_USE',
      message: expect.stringContaining('supervisor web'),
    })
    place.connect().exec('UPDATE gleaner_supervisors SET has_left = 1')
    expect(await copyDatabase({ from: place.database, to, dryRun: true })).toMatchObject({ dryRun: true })
    expect((await copyDatabase({ from: place.database, to })).dryRun).toBe(false)
    const after = await place.open({ database: to })
    expect((await after.queues.list()).every(({ paused }) => paused)).toBe(true)
  })

  test('gives back what a killed worker held, and lets nobody write meanwhile', async ({
    place,
    app: _,
    to,
  }) => {
    const gleaner = await place.open({ tasks: [patient] })
    const child = place.start('worker.ts')
    const { id } = await gleaner.enqueue(patient)
    await child.hears('running')
    await child.kill()
    await gleaner.close()
    expect((await copyDatabase({ from: place.database, to, dryRun: true })).tasks.running).toBe(1)
    const refusals: unknown[] = []
    const other = new Database(place.file, { timeout: 0 })
    const tryToWrite = () => {
      try {
        other.exec('UPDATE gleaner_meta SET value = value')
      } catch (error) {
        refusals.push(error)
      }
    }
    const copied = await copyDatabase({ from: place.database, to, onProgress: tryToWrite })
    expect(copied.tasks.running).toBe(undefined)
    expect(refusals[0]).toMatchObject({ code: 'SQLITE_BUSY' })
    // It is as it was, and can be used again.
    other.exec('UPDATE gleaner_meta SET value = value')
    other.close()
    const after = await place.open({ database: to })
    expect(await after.tasks.get(id)).toMatchObject({ status: 'queued', crashes: 1 })
    expect(await after.tasks.attempts(id)).toMatchObject([{ outcome: 'crash', worker: expect.any(String) }])
  })

  test('into a schema that holds something is refused, twice as well', async ({ place, app, to }) => {
    const other = await place.open({ database: to, tasks: [app.tasks.held] })
    const handle = await other.enqueue(app.tasks.held, 'mine')
    await other.close()
    for (const dryRun of [true, false])
      await expect(copyDatabase({ from: place.database, to, dryRun })).rejects.toMatchObject({
        code: 'STORE_NOT_EMPTY',
        message: expect.stringContaining('tasks'),
      })
    const again = await place.open({ database: to })
    expect((await again.tasks.list()).items.map(({ id }) => id)).toEqual([handle.id])
  })

  test('is undone when the two sides differ in the end', async ({ place, app: _, to }) => {
    const users = await connectedTo(to)
    await users.query('CREATE RULE lost AS ON INSERT TO logs DO INSTEAD NOTHING')
    await expect(copyDatabase({ from: place.database, to })).rejects.toMatchObject({
      code: 'STORE_FAILED',
      message: expect.stringContaining('logs 2 and 0'),
    })
    await users.query('DROP RULE lost ON logs')
    await copyDatabase({ from: place.database, to })
  })

  test('killed in the middle, leaves nothing, and is done by the next one', async ({ place, app, to }) => {
    const source = await place.open({ tasks: [app.tasks.note] })
    const inputs = Array.from({ length: 2_500 }, (_, i) => String(i).padEnd(1_500))
    await source.enqueueMany(app.tasks.note, inputs)
    await source.close()
    const child = place.start(new URL('./programs/copy-halfway.ts', import.meta.url).pathname, { to })
    expect((await child.hears('halfway')).table).toBe('tasks')
    await child.kill()
    const before = await place.open({ database: to })
    expect(await before.tasks.counts()).toMatchObject({ queued: 0, completed: 0, failed: 0 })
    expect(await before.queues.list()).toEqual([])
    await before.close()
    const { tasks } = await copyDatabase({ from: place.database, to })
    const after = await place.open({ database: to })
    expect(tasks.queued).toBeGreaterThan(inputs.length)
    expect((await after.tasks.counts()).queued).toBe(tasks.queued)
    expect(await after.maintenance.check()).toEqual([])
  })

  test('of or to something else is refused', async ({ place, app: _, to }) => {
    const refused = (from: string, there: string) => expect(copyDatabase({ from, to: there })).rejects
    await refused(to, to).toMatchObject({ code: 'NOT_SUPPORTED' })
    await refused('sqlite::memory:', to).toMatchObject({ code: 'NOT_SUPPORTED' })
    await refused(`${place.database}.not`, to).toMatchObject({ code: 'STORE_AWAY' })
    await refused(place.database, 'sqlite:./other.db').toMatchObject({ code: 'BAD_OPTION' })
    await refused(place.database, 'no url:secret').toMatchObject({
      code: 'BAD_OPTION',
      message: expect.not.stringContaining('secret'),
    })
    const db = place.connect()
    db.exec('DELETE FROM gleaner_migrations WHERE version = (SELECT max(version) FROM gleaner_migrations)')
    await refused(place.database, to).toMatchObject({ code: 'STORE_MIGRATION' })
    db.exec(`INSERT INTO gleaner_migrations VALUES (9999, 'newer', 0)`)
    await refused(place.database, to).toMatchObject({ code: 'STORE_NEWER' })
  })
})

test('of every table somebody has decided whether it is copied', async ({ place }) => {
  const gleaner = await place.open()
  await gleaner.close()
  const sqlite = place
    .connect()
    .prepare(
      `SELECT replace(name, 'gleaner_', '') FROM sqlite_schema WHERE type = 'table' AND name LIKE 'gleaner@_%' ESCAPE '@'`,
    )
    .pluck()
    .all() as string[]
  const target = await openPostgresDatabase()
  const rows = await target.tables.rows(
    `SELECT tablename FROM pg_tables WHERE schemaname = '${target.schema}'`,
  )
  await target.destroy()
  const postgres = rows.map(({ tablename }) => String(tablename)).filter((name) => name !== 'notes')
  const decided = [...COPIED_TABLES.map(({ name }) => name), ...Object.keys(NOT_COPIED)]
  expect([...new Set([...sqlite, ...postgres])].sort()).toEqual(decided.sort())
})
