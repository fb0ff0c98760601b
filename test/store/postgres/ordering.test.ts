import { newTask } from '../../../src/testing/conformance/world.ts'
import { test } from './place.ts'

test('who enqueues by an order that has changed re-ranks it himself', async ({ place }) => {
  const store = await place.store({ notify: false })
  const other = await place.store({ notify: false })
  await other.enqueue([newTask()])
  await store.configureQueues([{ name: 'default', ordering: { strategy: 'fifo', ageingMs: null } }])
  await other.enqueue([newTask(), newTask()])
  await place.until('all are in the new order', async () => {
    const [{ first }] = await place.rows('SELECT min(rank)::text AS first FROM gleaner.tasks')
    return Number(first) >= 2 ** 52
  })
})
