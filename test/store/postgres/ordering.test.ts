import { expect } from 'vitest'
import { isOfGeneration } from '../../../src/model/rank.ts'
import { ManualClock } from '../../../src/testing/manual-clock.ts'
import { Claimant } from '../../conformance/claimant.ts'
import { newTask } from '../../conformance/world.ts'
import { testMigrated as test } from './place.ts'

test('who enqueues by an order that has changed re-ranks it himself', async ({ place }) => {
  const store = await place.store({ notify: false })
  const other = await place.store({ notify: false })
  await other.tasks.enqueue([newTask()])
  await store.admin.configureQueues([{ name: 'default', ordering: { strategy: 'fifo', ageingMs: null } }])
  await other.tasks.enqueue([newTask(), newTask()])
  await place.until('all are in the new order', async () => {
    const [{ first }] = await place.rows('SELECT min(rank)::text AS first FROM gleaner.tasks')
    return Number(first) >= 2 ** 52
  })
})

test('a race that has come far begins anew, in another era, and everybody in it is drawn again', async ({
  place,
}) => {
  const clock = new ManualClock(Date.now())
  const store = await place.store({ clock })
  const worker = await new Claimant(store, clock).begin()
  await store.admin.configureQueues([{ name: 'default', ordering: { strategy: 'weighted', ageingMs: null } }])
  while (await store.maintenance.rerank());
  await store.tasks.enqueue([newTask(), newTask(), newTask()])
  await worker.claim(1)
  await place.rows(`UPDATE gleaner.races SET moment = ${2 ** 51}`)
  while (await store.maintenance.rerank());
  const [{ era }] = await place.rows('SELECT era FROM gleaner.queues')
  const found = await place.rows('SELECT rank::text AS rank FROM gleaner.tasks')
  expect(era).toBe(2)
  expect(found.every(({ rank }) => isOfGeneration(Number(rank), 2))).toBe(true)
  expect(await worker.claim(5)).toHaveLength(2)
})

test('a queue is watched for a while after a change, and then no more', async ({ place }) => {
  const store = await place.store()
  await store.admin.configureQueues([{ name: 'default', ordering: { strategy: 'fifo', ageingMs: null } }])
  const watched = async () => (await place.rows('SELECT unranked FROM gleaner.queues'))[0].unranked !== null
  expect(await store.maintenance.rerank()).toBe(false)
  expect(await watched()).toBe(true)
  await place.rows('UPDATE gleaner.queues SET unranked = unranked - 3600000')
  expect(await store.maintenance.rerank()).toBe(false)
  expect(await watched()).toBe(false)
})
