import { expect, test } from 'vitest'
import { testMigrated as onPostgres } from './postgres/place.ts'
import { connect, freshPath, openStore } from './sqlite/folder.ts'

const restart = {
  action: 'workers.restart',
  target: 'worker:ml:0',
  role: 'operator',
  user: 'kim',
  address: '::1',
  details: null,
} as const
const ONLY_ADDED = /the record of actions is only added to/

test('on SQLite nobody changes the record of actions, or takes from it', async () => {
  const path = freshPath()
  const store = await openStore(path)
  await store.admin.noteAction(restart)
  const somebody = connect(path)
  expect(() => somebody.prepare("UPDATE gleaner_actions SET user = 'sam'").run()).toThrow(ONLY_ADDED)
  expect(() => somebody.prepare('DELETE FROM gleaner_actions').run()).toThrow(ONLY_ADDED)
  expect((await store.admin.listActions({ limit: 10, cursor: null })).items).toMatchObject([restart])
})

onPostgres('on PostgreSQL nobody changes the record of actions, or takes from it', async ({ place }) => {
  const store = await place.store()
  await store.admin.noteAction(restart)
  for (const change of [
    `UPDATE gleaner.actions SET "user" = 'sam'`,
    'DELETE FROM gleaner.actions',
    'TRUNCATE gleaner.actions',
  ])
    await expect(place.rows(change)).rejects.toThrow(ONLY_ADDED)
  expect((await store.admin.listActions({ limit: 10, cursor: null })).items).toMatchObject([restart])
})
