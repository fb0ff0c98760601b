import { expect, onTestFinished, test } from 'vitest'
import { isOfGeneration } from '../../../src/model/rank.ts'
import { Claimant } from '../../conformance/claimant.ts'
import { newTask } from '../../conformance/world.ts'
import { openSqliteDatabase } from '../sqlite-database.ts'

test('what another store enqueues after a change needs no re-ranking', async () => {
  const database = await openSqliteDatabase()
  onTestFinished(() => database.destroy())
  const store = await database.open()
  const other = await database.open()
  await other.tasks.enqueue([newTask()])
  await store.admin.configureQueues([{ name: 'default', ordering: { strategy: 'fifo', ageingMs: null } }])
  while (await store.maintenance.rerank());
  await other.tasks.enqueue([newTask(), newTask()])
  await other.tasks.enqueue([newTask({ key: 'k' })])
  await database.transact(async (tx) => other.tasks.within(tx).enqueue([newTask()]))
  // It would say that there was something to do, and do it.
  const ranked = await store.tasks.listTasks({ status: 'queued' }, { limit: 10, cursor: null })
  expect(ranked.items).toHaveLength(5)
  const { default: Database } = await import('better-sqlite3')
  const db = new Database(database.path, { readonly: true })
  onTestFinished(() => {
    db.close()
  })
  expect(
    db
      .prepare('SELECT count(*) FROM gleaner_tasks WHERE rank < ?')
      .pluck()
      .get(2 ** 52),
  ).toBe(0)
})

test('a race that has come far begins anew, in another era, and everybody in it is drawn again', async () => {
  const database = await openSqliteDatabase()
  onTestFinished(() => database.destroy())
  const store = await database.open()
  await store.admin.configureQueues([{ name: 'default', ordering: { strategy: 'weighted', ageingMs: null } }])
  while (await store.maintenance.rerank());
  await store.tasks.enqueue([newTask(), newTask()])
  const { default: Database } = await import('better-sqlite3')
  const db = new Database(database.path)
  onTestFinished(() => {
    db.close()
  })
  db.exec(`UPDATE gleaner_queues SET race = ${2 ** 51}`)
  while (await store.maintenance.rerank());
  expect(db.prepare('SELECT era, race, unranked FROM gleaner_queues').get()).toEqual({
    era: 2,
    race: 0,
    unranked: 0,
  })
  const ranks = db.prepare('SELECT rank FROM gleaner_tasks').pluck().all() as number[]
  expect(ranks.every((rank) => isOfGeneration(rank, 2))).toBe(true)
  expect((await (await new Claimant(store, database.clock).begin()).claim(5)).length).toBe(2)
})
