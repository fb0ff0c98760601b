import { expect } from 'vitest'
import { newTask } from '../../conformance/world.ts'
import { testMigrated as test } from './place.ts'

test('who removes many waits for nobody who has one of them in hand, and says that it is to be met again', async ({
  place,
}) => {
  const store = await place.store({ lockTimeoutMs: 200 })
  const [, second] = await store.tasks.enqueue(Array.from({ length: 3 }, () => newTask()))
  const other = await place.client()
  await other.query('BEGIN')
  await other.query(`SELECT 1 FROM "${place.schema}".tasks WHERE id = $1 FOR UPDATE`, [second!.id])
  const remove = () =>
    store.tasks.changeTasks({
      change: 'remove',
      filter: { status: 'queued' },
      page: { limit: 10, cursor: null },
      upTo: null,
      dryRun: null,
    })
  expect(await remove()).toMatchObject({ changed: 2, passedOver: 1 })
  await other.query('COMMIT')
  expect(await remove()).toMatchObject({ changed: 1, passedOver: 0 })
})
