import pg from 'pg'
import { expect, vi } from 'vitest'
import { systemClock } from '../../../src/clock.ts'
import type { Store } from '../../../src/store/contract.ts'
import { Claimant } from '../../../src/testing/conformance/claimant.ts'
import { newTask } from '../../../src/testing/conformance/world.ts'
import { test } from './place.ts'

const NONE = { ageMs: 0, count: null }
const EVERYTHING = { completed: NONE, failed: NONE, cancelled: NONE }

async function complete(store: Store, count: number): Promise<string[]> {
  const answers = await store.enqueue(Array.from({ length: count }, () => newTask()))
  const worker = await new Claimant(store, { ...systemClock, advance() {} }).begin()
  await worker.completeAll(await worker.claim(count))
  return answers.map(({ id }) => id)
}

/** Calls `meanwhile` once, before the first statement like this. */
function before(statement: RegExp, meanwhile: () => Promise<unknown>): void {
  const client = pg.Client.prototype as { query: (...parameters: any[]) => any }
  const original = client.query
  const spy = vi.spyOn(client, 'query').mockImplementation(async function (this: pg.Client, ...parameters) {
    if (statement.test(parameters[0].text ?? parameters[0])) {
      spy.mockRestore()
      await meanwhile()
    }
    return original.apply(this, parameters)
  })
}

test('a task that is retried while it is about to be pruned stays', async ({ place }) => {
  const store = await place.store()
  const other = await place.store()
  const [id] = await complete(store, 1)
  before(/FOR UPDATE OF t SKIP LOCKED/, async () => {
    await other.retryTask(id!)
    const worker = await new Claimant(other, { ...systemClock, advance() {} }).begin()
    await worker.complete(await worker.claimOne())
  })
  expect((await store.pruneTasks(EVERYTHING, { limit: 10 })).removed).toBe(0)
  expect((await store.getTask(id!))?.status).toBe('completed')
  expect(await store.check()).toEqual([])
})

test('a step reads no more because of what the steps before it removed', async ({ place }) => {
  const store = await place.store()
  await complete(store, 4_000)
  // Somebody looks at an old state: nothing that is removed can be cleaned away.
  const reader = await place.client()
  await reader.query('BEGIN ISOLATION LEVEL REPEATABLE READ')
  await reader.query('SELECT 1')
  const entries = async () => {
    await place.rows('SELECT pg_stat_force_next_flush()')
    const [row] = await place.rows(
      `SELECT idx_tup_read AS n FROM pg_stat_user_indexes WHERE indexrelid = 'gleaner.tasks_finished'::regclass`,
    )
    return Number(row.n)
  }
  const steps: number[] = []
  for (let n = 0; n < 3; n++) await store.pruneTasks(EVERYTHING, { limit: 1_000 })
  const atFirst = await entries()
  for (let n = 0; n < 9; n++) steps.push((await store.pruneTasks(EVERYTHING, { limit: 10 })).removed)
  const atLast = await entries()
  expect(steps).toEqual(Array(9).fill(10))
  expect(atLast - atFirst).toBeLessThan(9 * 1_000)
})

test('a check sees one moment, whatever is committed between two of its looks', async ({ place }) => {
  const store = await place.store()
  const other = await place.store()
  await complete(store, 3)
  before(/a lane has|AS counted/, () => complete(other, 5))
  expect(await store.check()).toEqual([])
})

test('a backup is left to the tools of PostgreSQL, and the error says so', async ({ place }) => {
  const gleaner = await place.open()
  const refused = { code: 'NOT_SUPPORTED', hint: expect.stringContaining('pg_dump') }
  await expect(gleaner.maintenance.backup('backup.db')).rejects.toMatchObject(refused)
  await expect(gleaner.maintenance.restore('backup.db')).rejects.toMatchObject(refused)
  expect(await gleaner.maintenance.checkpoint()).toEqual({ complete: true })
  expect(await gleaner.maintenance.optimize()).toEqual({ vacuumed: true, freeBytes: null })
  expect(await gleaner.maintenance.check()).toEqual([])
})
