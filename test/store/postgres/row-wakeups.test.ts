import { expect } from 'vitest'
import { defineDiscovery } from '../../../src/index.ts'
import { DiscoveryCache } from '../../../src/store/postgres/rows/discovery-cache.ts'
import { WritePolling } from '../../../src/store/postgres/rows/polling.ts'
import { Database } from '../../../src/store/postgres/server/database.ts'
import { Sql } from '../../../src/store/postgres/server/sql.ts'
import { type Place, testMigrated as test } from './place.ts'
import { rowWorker, withFiles } from './rows-place.ts'

/** A table that needs no work yet, and an idle worker on it that tells which rows it ran. */
async function idle(place: Place, wakeTriggers: boolean) {
  await place.createSchema()
  await place.rows('CREATE TABLE gleaner.files (id integer PRIMARY KEY, needs boolean NOT NULL)')
  await place.rows('CREATE INDEX ON gleaner.files (id) WHERE needs')
  const ran: { id: number; atMs: number }[] = []
  const files = defineDiscovery({
    name: 'files',
    table: `${place.schema}.files`,
    key: 'id',
    where: 'needs',
    run: (row) => {
      ran.push({ id: row.id as number, atMs: performance.now() })
    },
    done: () => ({ needs: false }),
  })
  // An idle worker does not look by itself, so that only what wakes it is seen.
  const timings = { idleMin: '1m', idleMax: '1m' } as const
  const gleaner = await place.open({ discoveries: [files], postgres: { wakeTriggers }, timings })
  const worker = gleaner.work({ discoveries: ['files'] })
  await worker.drained()
  return { ran, gleaner, worker }
}

test('with a trigger, a row that the app writes is picked up at once', async ({ place }) => {
  const { ran } = await idle(place, true)
  const waits: number[] = []
  for (let id = 1; id <= 20; id++) {
    const wroteMs = performance.now()
    await place.rows('INSERT INTO gleaner.files VALUES ($1, true)', [id])
    await place.until('it was run', () => ran.length === id)
    waits.push(ran.at(-1)!.atMs - wroteMs)
  }
  // Far below what polling would take, also on a busy machine.
  expect(waits.toSorted((a, b) => a - b)[10]).toBeLessThan(100)
})

test('without one it is found all the same, within a second', async ({ place }) => {
  const { ran, worker } = await idle(place, false)
  expect(await triggers(place)).toEqual([])
  for (const id of [1, 2, 3]) {
    // What is written while it still looks is found by that look.
    await place.until('it rests', () => worker.snapshot().phase === 'idle')
    await place.rows('INSERT INTO gleaner.files VALUES ($1, true)', [id])
    await place.until('it was run', () => ran.length === id, 5_000)
  }
  expect(ran.map(({ id }) => id)).toEqual([1, 2, 3])
})

test('a row that is written right after the very first look is told of, though nothing else is ever written', async ({
  place,
}) => {
  const store = await withFiles(place, 0)
  let told = 0
  store.onChange(() => told++)
  const worker = await rowWorker(store)
  expect(await worker.claim(1)).toEqual([])
  await place.rows('INSERT INTO gleaner.files (id, needs) VALUES (1, true)')
  const before = told
  await place.until('it is told of', () => told > before)
  expect(await worker.claim(1)).toMatchObject([{ key: '1' }])
})

test('the first time the server is asked whether anything was written counts as news: a worker may have looked too early', async ({
  place,
}) => {
  await withFiles(place, 0)
  const database = new Database({ url: place.url, schema: place.schema })
  place.atEnd(() => database.close())
  // Here nothing is ever written, whatever else goes on in the server.
  const quiet = await place.client()
  await quiet.query('BEGIN ISOLATION LEVEL REPEATABLE READ')
  let [asked, told] = [0, 0]
  const query = (text: string) => {
    asked++
    return quiet.query(text)
  }
  const polling = new WritePolling(
    new Sql({ query }, place.schema),
    new DiscoveryCache(database),
    () => told++,
  )
  place.atEnd(async () => polling.close())
  polling.asked(['files'])
  await place.until('it was asked three times', () => asked >= 3)
  expect(told).toBe(1)
})

test('what Gleaner itself writes to the table is told to nobody', async ({ place }) => {
  const { ran } = await idle(place, true)
  const listener = await place.client()
  const heard: string[] = []
  listener.on('notification', ({ payload }) => heard.push(payload ?? ''))
  await listener.query(`LISTEN "${place.schema}"`)
  await place.rows('INSERT INTO gleaner.files SELECT n, true FROM generate_series(1, 50) n')
  await place.until(
    'all are done',
    async () => (await place.rows('SELECT 1 FROM gleaner.files WHERE needs')).length === 0,
  )
  await listener.query('SELECT 1')
  expect(ran).toHaveLength(50)
  expect(heard.filter((words) => words.startsWith('rows'))).toEqual(['rows work'])
})

test('the trigger is put on a table once, however many open it at the same time', async ({ place }) => {
  const { gleaner } = await idle(place, true)
  await gleaner.close()
  const files = defineDiscovery({
    name: 'others',
    table: `${place.schema}.files`,
    key: 'id',
    where: 'NOT needs',
    run: () => {},
    done: () => ({ needs: true }),
  })
  const options = { discoveries: [files], postgres: { wakeTriggers: true } }
  await Promise.all([place.open(options), place.open(options), place.open(options)])
  expect(await triggers(place)).toEqual([{ tgname: `${place.schema}_rows_written` }])
})

function triggers(place: Place) {
  return place.rows(`SELECT tgname FROM pg_trigger WHERE tgrelid = 'gleaner.files'::regclass`)
}
