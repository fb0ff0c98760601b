import { statSync } from 'node:fs'
import Database from 'better-sqlite3'
import { expect, test, vi } from 'vitest'
import { systemClock } from '../../../src/clock.ts'
import type { Store } from '../../../src/store/ports/store.ts'
import { Claimant } from '../../conformance/claimant.ts'
import { newTask } from '../../conformance/world.ts'
import { connect, freshPath, openStore } from './folder.ts'

const NONE = { ageMs: 0, count: null }
const EVERYTHING = { completed: NONE, failed: NONE, cancelled: NONE }
const clock = { ...systemClock, advance() {} }

const worker = (store: Store) => new Claimant(store, clock).begin()
const some = (count: number, input = '1') => Array.from({ length: count }, () => newTask({ input }))

/** Every statement of a life that looks for tasks. */
async function statements(path: string): Promise<string[]> {
  const prepare = vi.spyOn(Database.prototype, 'prepare')
  const store = await openStore(path)
  await store.tasks.enqueue([...some(3), newTask({ key: 'k', runAfter: { ms: 1 } })])
  const claimant = await worker(store)
  const [first, second] = await claimant.claim(2)
  await claimant.complete(first!)
  await claimant.fail(second!)
  await store.tasks.retryTask(second!.id)
  await store.admin.readMetrics(60_000)
  await store.tasks.countTasks({})
  for (const status of ['queued', 'completed'] as const)
    await store.tasks.listTasks({ status }, { limit: 5, cursor: null })
  await store.maintenance.pruneTasks(EVERYTHING, { limit: 1 })
  await claimant.end('crash')
  const asked = new Set(prepare.mock.calls.map(([sql]) => sql))
  prepare.mockRestore()
  return [...asked].filter((sql) => /gleaner_tasks|gleaner_held/.test(sql))
}

/** How SQLite would find what they look for. */
function plansOf(path: string, sources: readonly string[]): [sql: string, plan: string[]][] {
  const db = connect(path)
  return sources.map((sql) => {
    const values = Array(sql.split('?').length - 1).fill(1)
    const rows = db.prepare(`EXPLAIN QUERY PLAN ${sql}`).all(...values) as { detail: string }[]
    return [sql, rows.map(({ detail }) => detail)]
  })
}

test.for([
  ['nothing waits', 3_000, 0],
  ['nothing has finished', 0, 3_000],
  ['much has finished and a little waits', 3_000, 10],
] as const)('when %s, statistics lead no statement astray', async ([, finished, waiting]) => {
  const path = freshPath()
  const store = await openStore(path)
  await store.tasks.enqueue(some(finished))
  const claimant = await worker(store)
  await claimant.completeAll(await claimant.claim(finished))
  await store.tasks.enqueue(some(waiting))
  const sources = await statements(path)
  expect(sources.length).toBeGreaterThan(10)
  const before = plansOf(path, sources)
  await store.maintenance.optimize({})
  expect(connect(path).prepare('SELECT count(*) FROM sqlite_stat1').pluck().get()).toBeGreaterThan(0)
  expect(plansOf(path, sources)).toEqual(before)
})

test('free space is given back unasked where that is quick and nothing of the app is in the file', async () => {
  const input = JSON.stringify('x'.repeat(50_000))
  for (const isShared of [false, true]) {
    const path = freshPath()
    const store = await openStore(path)
    if (isShared) connect(path).exec('CREATE TABLE notes (text)')
    await store.tasks.enqueue(some(250, input))
    const claimant = await worker(store)
    await claimant.completeAll(await claimant.claim(250))
    await store.maintenance.pruneTasks(EVERYTHING, { limit: 1_000 })
    const { vacuumed, freeBytes } = await store.maintenance.optimize({})
    expect(vacuumed).toBe(!isShared)
    if (isShared) expect(freeBytes).toBeGreaterThan(8_000_000)
    else expect(statSync(path).size).toBeLessThan(1_000_000)
    expect(await store.maintenance.optimize({ vacuum: true })).toMatchObject({ vacuumed: true, freeBytes: 0 })
    expect(await store.maintenance.check()).toEqual([])
  }
})

test('a checkpoint leaves the log empty, and says when somebody still reads it', async () => {
  const path = freshPath()
  const store = await openStore(path)
  await store.tasks.enqueue(some(100))
  expect(await store.maintenance.checkpoint()).toEqual({ complete: true })
  expect(statSync(`${path}-wal`).size).toBe(0)
  const reader = connect(path)
  reader.exec('BEGIN')
  reader.prepare('SELECT count(*) FROM gleaner_tasks').get()
  await store.tasks.enqueue(some(100))
  expect(await store.maintenance.checkpoint()).toEqual({ complete: false })
  reader.exec('ROLLBACK')
  expect(await store.maintenance.checkpoint()).toEqual({ complete: true })
})
