import pg from 'pg'
import { expect, vi } from 'vitest'
import { systemClock } from '../../../src/clock.ts'
import type { Store } from '../../../src/store/ports/store.ts'
import { Pipeline, type WireAnswer } from '../../../src/store/postgres/server/pipeline.ts'
import { Claimant } from '../../conformance/claimant.ts'
import { newTask } from '../../conformance/world.ts'
import { until } from '../../until.ts'
import { testMigrated as test } from './place.ts'

const NONE = { ageMs: 0, count: null }
const EVERYTHING = { completed: NONE, failed: NONE, cancelled: NONE }

async function complete(store: Store, count: number): Promise<string[]> {
  const answers = await store.tasks.enqueue(Array.from({ length: count }, () => newTask()))
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

/** The pages in which a step looks for tasks, as the server explains its own statement. */
async function pagesOf(step: () => Promise<unknown>): Promise<number> {
  const original = Pipeline.prototype.add
  const plans: Promise<WireAnswer>[] = []
  const spy = vi.spyOn(Pipeline.prototype, 'add').mockImplementation(function (this: Pipeline, statement) {
    if (/since_id/.test(statement.text)) {
      const text = `EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) ${statement.text}`
      plans.push(original.call(this, { ...statement, name: undefined, text, asArrays: false }))
    }
    return original.call(this, statement)
  })
  await step()
  spy.mockRestore()
  const answers = await Promise.all(plans)
  return answers.reduce((pages, { rows }) => pages + rows[0]['QUERY PLAN'][0].Plan['Shared Hit Blocks'], 0)
}

test('a task that is retried while it is about to be pruned stays', async ({ place }) => {
  const store = await place.store()
  const other = await place.store()
  const [id] = await complete(store, 1)
  before(/FOR UPDATE OF t/, async () => {
    await other.tasks.retryTask(id!)
    const worker = await new Claimant(other, { ...systemClock, advance() {} }).begin()
    await worker.complete(await worker.claimOne())
  })
  expect((await store.maintenance.pruneTasks(EVERYTHING, { limit: 10 })).removed).toBe(0)
  expect((await store.tasks.getTask(id!))?.status).toBe('completed')
  expect(await store.maintenance.check()).toEqual([])
})

test('who prunes by hand waits for who is at it, and who does it in the background does not', async ({
  place,
}) => {
  const store = await place.store()
  const [first] = await complete(store, 5)
  const other = await place.client()
  await other.query('BEGIN')
  await other.query(`SELECT 1 FROM ${place.schema}.tasks WHERE id = $1 FOR UPDATE`, [first])
  const turn = { held: null, forMs: 10_000 }
  expect(await store.maintenance.pruneTasks(EVERYTHING, { limit: 1, turn })).toMatchObject({
    removed: 0,
    more: false,
  })
  const byHand = store.maintenance.pruneTasks(EVERYTHING, { limit: 1 })
  const waiting = `SELECT 1 FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND query LIKE '%"${place.schema}".%FOR UPDATE OF t%'`
  await until('it waits', async () => (await place.rows(waiting)).length > 0)
  await other.query(`DELETE FROM ${place.schema}.tasks WHERE id = $1`, [first])
  await other.query('COMMIT')
  expect(await byHand).toMatchObject({ removed: 0, more: true })
  expect(await store.maintenance.pruneTasks(EVERYTHING, { limit: 9 })).toMatchObject({
    removed: 4,
    more: true,
  })
  expect(await store.maintenance.pruneTasks(EVERYTHING, { limit: 9 })).toMatchObject({
    removed: 0,
    more: false,
  })
})

test('a step reads no more because of what the steps before it removed', async ({ place }) => {
  const store = await place.store()
  await complete(store, 4_000)
  // As if each had ended by itself, in a millisecond of its own.
  await place.rows('UPDATE gleaner.tasks SET finished_at = finished_at - 10000 + id')
  await place.rows('DELETE FROM gleaner.finished')
  await place.rows(
    'INSERT INTO gleaner.finished SELECT lane, status, finished_at, ARRAY[id] FROM gleaner.tasks ORDER BY id',
  )
  expect(await store.maintenance.check()).toEqual([])
  // Somebody looks at an old state: nothing that is removed can be cleaned away.
  const reader = await place.client()
  await reader.query('BEGIN ISOLATION LEVEL REPEATABLE READ')
  await reader.query('SELECT 1')
  const step = (limit: number) => store.maintenance.pruneTasks(EVERYTHING, { limit })
  const atFirst = await pagesOf(() => step(10))
  for (let n = 0; n < 3; n++) expect((await step(1_000)).removed).toBe(1_000)
  const atLast = await pagesOf(() => step(10))
  expect(atFirst).toBeGreaterThan(0)
  // From the beginning it would be some dozens.
  expect(atLast).toBeLessThan(atFirst + 10)
})

test('restoring is left to the tools of PostgreSQL, and the error says so', async ({ place }) => {
  const gleaner = await place.open()
  const refused = { code: 'NOT_SUPPORTED', hint: expect.stringContaining('pg_restore') }
  await expect(gleaner.maintenance.restore('backup.db')).rejects.toMatchObject(refused)
  expect(await gleaner.maintenance.checkpoint()).toEqual({ complete: true })
  expect(await gleaner.maintenance.optimize()).toEqual({ vacuumed: true, freeBytes: null })
  expect(await gleaner.maintenance.check()).toEqual([])
})
