import pg from 'pg'
import { describe, expect } from 'vitest'
import { Connections } from '../../../src/store/postgres/server/connections.ts'
import { Database } from '../../../src/store/postgres/server/database.ts'
import { ManualClock } from '../../../src/testing/manual-clock.ts'
import { Claimant } from '../../conformance/claimant.ts'
import { newTask } from '../../conformance/world.ts'
import { type Place, testMigrated as test } from './place.ts'

const CLAIMING = /INTO \S+batches/

/** A worker whose last exchange found nothing more: its connection is at rest. */
async function rested(place: Place) {
  const proxy = await place.proxy()
  const clock = new ManualClock(Date.now())
  const store = await place.store({ url: proxy.url, clock, poolSize: 10 })
  await store.tasks.enqueue([newTask()])
  const worker = await new Claimant(store, clock).begin()
  expect(await worker.claim(1)).toHaveLength(1)
  expect(await worker.claim(1)).toEqual([])
  return { proxy, store, worker }
}

test('exchanges go by one connection, whatever else the store is asked for meanwhile', async ({ place }) => {
  const { proxy, store, worker } = await rested(place)
  for (let n = 0; n < 5; n++) {
    await store.tasks.enqueue([newTask()])
    const others = [store.tasks.countTasks({}), store.tasks.countTasks({}), store.admin.listQueues()]
    await worker.completeAll(await worker.claim(1))
    await Promise.all(others)
  }
  const claiming = proxy.seen.filter(({ statements }) => statements.some((text) => CLAIMING.test(text)))
  expect(claiming).toHaveLength(1)
  expect(proxy.peak).toBeGreaterThan(2)
})

describe('whoever finds no other connection gets the one that is kept', () => {
  async function allTaken(place: Place) {
    const pool = new pg.Pool({ connectionString: place.url, max: 2 })
    const connections = new Connections(pool, 2)
    place.atEnd(() => connections.end())
    const regular = await connections.open(true)
    connections.close(regular, undefined, true)
    const other = await connections.open(false)
    expect(other).not.toBe(regular)
    return { connections, regular, other }
  }

  test('for a transaction', async ({ place }) => {
    const { connections, regular, other } = await allTaken(place)
    expect(await connections.open(false)).toBe(regular)
    for (const client of [regular, other]) connections.close(client, undefined, false)
  })

  test('and who waited for it', async ({ place }) => {
    const { connections, other } = await allTaken(place)
    const regular = await connections.open(true)
    const waiting = connections.open(false)
    connections.close(regular, undefined, true)
    expect(await waiting).toBe(regular)
    for (const client of [regular, other]) connections.close(client, undefined, false)
  })
})

test('a kept connection that breaks while it rests is replaced', async ({ place }) => {
  const { proxy, store, worker } = await rested(place)
  const before = proxy.open
  expect(proxy.cut(CLAIMING)).toBe(1)
  await place.until('the connection is gone', () => proxy.open < before)
  await store.tasks.enqueue([newTask()])
  expect(await worker.claim(1)).toHaveLength(1)
})

test('what is sent together, again and again, is planned once', async ({ place }) => {
  const database = new Database({ url: place.url, schema: place.schema })
  place.atEnd(() => database.close())
  const text = 'SELECT n FROM generate_series(1, $1::int) n'
  for (let n = 1; n <= 3; n++) await database.batch([{ text, values: [n] }])
  // A server of before 14 counts none.
  const plans = `SELECT coalesce(to_jsonb(p) ->> 'custom_plans', '0') FROM pg_prepared_statements p WHERE statement = $1`
  const [answer] = await database.batch([{ text: plans, values: [text] }])
  expect(answer).toEqual([['0']])
})
