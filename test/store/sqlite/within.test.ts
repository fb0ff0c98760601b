import { expect, test } from 'vitest'
import type { Enqueued } from '../../../src/store/ports/new-task.ts'
import { newTask } from '../../conformance/world.ts'
import { connect, freshPath, openStore } from './folder.ts'

test("within is synchronous, and works in better-sqlite3's own transactions", async () => {
  const path = freshPath()
  const store = await openStore(path)
  const db = connect(path)
  const enqueue = db.transaction(() => store.tasks.within(db).enqueue([newTask({ key: 'k' })]) as Enqueued[])
  expect(enqueue.immediate()).toMatchObject([{ created: true }])
  expect(enqueue.immediate()).toMatchObject([{ created: false }])
  expect(await store.tasks.countTasks({})).toMatchObject({ queued: 1 })
})

test('within is refused outside a transaction, where nothing could be undone', async () => {
  const path = freshPath()
  const store = await openStore(path)
  const db = connect(path)
  expect(() => store.tasks.within(db).enqueue([newTask()])).toThrow(
    expect.objectContaining({ code: 'NOT_IN_TRANSACTION' }),
  )
  expect(await store.tasks.countTasks({})).toMatchObject({ queued: 0 })
})

test('within is refused on a connection to another file', async () => {
  const store = await openStore(freshPath())
  const elsewhere = freshPath()
  await openStore(elsewhere)
  const db = connect(elsewhere)
  const enqueue = db.transaction(() => store.tasks.within(db).enqueue([newTask()]))
  expect(() => enqueue()).toThrow(expect.objectContaining({ code: 'STORE_OTHER' }))
  expect(db.prepare('SELECT count(*) FROM gleaner_tasks').pluck().get()).toBe(0)
})
