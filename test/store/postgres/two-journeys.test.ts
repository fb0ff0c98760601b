import { expect, vi } from 'vitest'
import type { Claim, Exchanged } from '../../../src/store/ports/exchange.ts'
import { Database } from '../../../src/store/postgres/server/database.ts'
import { ManualClock } from '../../../src/testing/manual-clock.ts'
import { Claimant } from '../../conformance/claimant.ts'
import { counts, newTask } from '../../conformance/world.ts'
import { type Place, testMigrated as test } from './place.ts'
import type { PostgresProxy } from './proxy.ts'

const MANY = 120
const IN_ONE_JOURNEY = /AS kept/

/** A worker that has worked for a while, and holds much; and somebody else's store. */
async function busy(place: Place) {
  const clock = new ManualClock(Date.now())
  const proxy = await place.proxy()
  const store = await place.store({ url: proxy.url, clock })
  const other = await place.store({ clock })
  await store.tasks.enqueue(Array.from({ length: 3 * MANY + 2 }, () => newTask()))
  const worker = await new Claimant(store, clock).begin()
  let held = await worker.claim(1)
  for (const next of [1, MANY]) held = (await handIn(worker, held, next)).claims
  expect(held).toHaveLength(MANY)
  const trade = () => handIn(worker, held, MANY)
  const ids = held.map(({ id }) => id)
  return { clock, proxy, store, other, worker, held, ids, trade }
}

function handIn(worker: Claimant, claims: readonly Claim[], start: number): Promise<Exchanged> {
  const outcome = { kind: 'completed', result: null } as const
  return worker.exchange({
    outcomes: claims.map(({ id, fence }) => ({ id, fence, startedAt: worker.clock.now(), outcome })),
    want: { able: worker.able, start, ahead: 0, empty: false },
  })
}

/** By how many connections its journeys went. */
async function watched(proxy: PostgresProxy, trade: () => Promise<Exchanged>) {
  const before = proxy.seen.map(({ statements }) => statements.length)
  const answer = await trade()
  const since = proxy.seen.map(({ statements }, at) => statements.slice(before[at] ?? 0).join())
  return { answer, connections: since.filter((texts) => IN_ONE_JOURNEY.test(texts)).length }
}

/** Of the two journeys of the next exchange, the claim is the first, and what is handed in the second. */
function watchJourneys(pass: (nth: 1 | 2, go: () => Promise<unknown>) => Promise<unknown>) {
  const together = Database.prototype.together
  let nth = 0
  const spy = vi.spyOn(Database.prototype, 'together').mockImplementation(function (
    this: Database,
    ...asked
  ) {
    nth += 1
    if (nth === 2) spy.mockRestore()
    return pass(nth as 1 | 2, () => together.apply(this, asked)) as Promise<any>
  })
}

/** One of them goes when the other is over, and something has happened in between. */
function oneAfterTheOther(first: 1 | 2, between: () => Promise<unknown>): void {
  const over = Promise.withResolvers<void>()
  watchJourneys(async (nth, go) => {
    if (nth !== first) {
      await over.promise
      await between()
    }
    return go().finally(over.resolve)
  })
}

async function statuses(place: Place, ids: readonly string[]): Promise<string[]> {
  const rows = await place.rows('SELECT DISTINCT status FROM gleaner.tasks WHERE id = ANY($1)', [ids])
  return rows.map(({ status }) => status)
}

test('much that is handed in goes by a connection of its own, while the next is claimed', async ({
  place,
}) => {
  const { proxy, held, ids, trade } = await busy(place)
  const { answer, connections } = await watched(proxy, trade)
  const { claims, refused } = answer
  expect(claims).toHaveLength(MANY)
  expect(new Set([...claims, ...held].map(({ id }) => id)).size).toBe(2 * MANY)
  expect(refused).toEqual([])
  expect(await statuses(place, ids)).toEqual(['completed'])
  expect(connections).toBe(2)
  expect(await place.rows('SELECT cardinality(tasks) AS tasks FROM gleaner.batches')).toEqual([
    { tasks: MANY },
  ])
})

test('where another session lives it goes by one connection', async ({ place }) => {
  const { clock, proxy, store, other, ids, worker, trade } = await busy(place)
  await new Claimant(other, clock, { worker: 'worker:test:1' }).begin()
  // The next exchange notices.
  await worker.claim(1)
  const { answer, connections } = await watched(proxy, trade)
  expect(answer.claims).toHaveLength(MANY)
  expect(await statuses(place, ids)).toEqual(['completed'])
  expect(connections).toBe(1)
  await store.sessions.endSession(worker.session, 'stop')
})

test('what was handed in before something changed counts, and what is claimed then is claimed as it is now', async ({
  place,
}) => {
  const { other, ids, trade } = await busy(place)
  oneAfterTheOther(2, () => other.admin.setPaused(null, true))
  expect(await trade()).toMatchObject({ claims: [], refused: [], paused: true })
  expect(await statuses(place, ids)).toEqual(['completed'])
  expect(await place.rows('SELECT 1 FROM gleaner.tasks WHERE fence IS NOT NULL')).toEqual([])
})

test('what was claimed before something changed counts, and what is handed in then is handed in as it is now', async ({
  place,
}) => {
  const { other, ids, trade, worker } = await busy(place)
  oneAfterTheOther(1, () =>
    other.admin.planLimits([{ queue: 'default', limit: { concurrency: MANY, rate: null } }]),
  )
  const { claims, refused } = await trade()
  expect([claims.length, refused]).toEqual([MANY, []])
  expect(await statuses(place, ids)).toEqual(['completed'])
  await worker.completeAll(claims)
  expect(await other.tasks.countTasks({})).toEqual(counts({ completed: 2 * MANY + 2, queued: MANY }))
})

test('a session that ends between the two loses what it has claimed, and what it did not hand in', async ({
  place,
}) => {
  const { other, ids, trade, worker } = await busy(place)
  oneAfterTheOther(1, () => other.sessions.endSession(worker.session, 'lease'))
  const { sessionEnded, refused } = await trade()
  expect(sessionEnded).toBe(true)
  expect([...refused].sort()).toEqual([...ids].sort())
  expect(await place.rows('SELECT 1 FROM gleaner.tasks WHERE fence IS NOT NULL')).toEqual([])
  expect(await other.tasks.countTasks({})).toEqual(counts({ completed: 2, queued: 3 * MANY }))
})

test('should one of them fail, the other is over when that is told, and the next exchange puts it right', async ({
  place,
}) => {
  const { other, worker, held, ids, trade } = await busy(place)
  await place.rows('ALTER TABLE gleaner.tallies ADD CHECK (completed = 0) NOT VALID')
  const gate = Promise.withResolvers<void>()
  const failed = Promise.withResolvers<void>()
  watchJourneys((nth, go) => (nth === 1 ? gate.promise.then(go) : go().finally(failed.resolve)))
  const trading = trade().catch((error) => error)
  await failed.promise
  gate.resolve()
  expect(await trading).toMatchObject({ cause: { code: '23514' } })
  const claimed = await place.rows('SELECT 1 FROM gleaner.tasks WHERE fence IS NOT NULL')
  expect(claimed).toHaveLength(2 * MANY)

  await place.rows('ALTER TABLE gleaner.tallies DROP CONSTRAINT tallies_completed_check')
  const outcome = { kind: 'completed', result: null } as const
  const outcomes = held.map(({ id, fence }) => ({ id, fence, startedAt: worker.clock.now(), outcome }))
  expect(await worker.exchange({ outcomes, holding: [] })).toMatchObject({ refused: [] })
  expect(await statuses(place, ids)).toEqual(['completed'])
  expect(await other.tasks.countTasks({})).toEqual(counts({ completed: MANY + 2, queued: 2 * MANY }))
})
