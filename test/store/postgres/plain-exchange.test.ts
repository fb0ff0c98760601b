import { afterEach, describe, expect, vi } from 'vitest'
import { LOG_LINES_MAX } from '../../../src/store/log-row.ts'
import type { Claim, Exchanged } from '../../../src/store/ports/exchange.ts'
import type { Store } from '../../../src/store/ports/store.ts'
import { Database } from '../../../src/store/postgres/server/database.ts'
import { ManualClock } from '../../../src/testing/manual-clock.ts'
import { Claimant } from '../../conformance/claimant.ts'
import { newTask } from '../../conformance/world.ts'
import { type Place, testMigrated as test } from './place.ts'

const IN_ONE_JOURNEY = /AS kept/

afterEach(() => {
  vi.restoreAllMocks()
})

/** A worker that has worked for a while, so that it asks for everything at once; and somebody else's store. */
async function usual(place: Place) {
  const clock = new ManualClock(Date.now())
  const proxy = await place.proxy()
  const store = await place.store({ url: proxy.url, clock })
  const other = await place.store({ clock })
  await store.tasks.enqueue(Array.from({ length: 10 }, (_, n) => newTask({ input: String(n) })))
  const worker = await new Claimant(store, clock, { names: ['job', 'late'] }).begin()
  let held = await worker.claim(1)
  for (let n = 0; n < 3; n++) held = (await handIn(worker, held)).claims
  const journeys = () =>
    proxy.seen.flatMap(({ statements }) => statements).filter((text) => IN_ONE_JOURNEY.test(text)).length
  /** Hands in what it holds, and wants `start`; it has to be tried in one journey. */
  const trade = async (start = 1): Promise<Exchanged> => {
    const before = journeys()
    const answer = await handIn(worker, held, start)
    expect(journeys()).toBe(before + 1)
    return answer
  }
  return { clock, store, other, worker, held: held[0]!, trade }
}

function handIn(worker: Claimant, claims: readonly Claim[], start = 1): Promise<Exchanged> {
  const outcome = { kind: 'completed', result: null } as const
  return worker.exchange({
    outcomes: claims.map(({ id, fence }) => ({ id, fence, startedAt: worker.clock.now(), outcome })),
    want: { able: worker.able, start, ahead: 0, empty: claims.length < 2 },
  })
}

const inputsOf = ({ claims }: Exchanged) => claims.map(({ input }) => input)
const statusOf = async (store: Store, { id }: Claim) => (await store.tasks.getTask(id))!.status

test('what is completed is handed in, and the next is claimed, in one journey', async ({ place }) => {
  const { clock, other, held, trade } = await usual(place)
  clock.advance(7)
  const answer = await trade(2)
  expect(inputsOf(answer)).toEqual(['4', '5'])
  expect(answer).toMatchObject({ refused: [], cancels: [], sessionEnded: false, nextDueInMs: null })
  expect(await other.tasks.getTask(held.id)).toMatchObject({ status: 'completed', finishedAt: clock.now() })
  expect(await other.tasks.getTask(answer.claims[0]!.id)).toMatchObject({
    status: 'running',
    attempts: 1,
    startedAt: clock.now(),
  })
})

describe('what has changed since the last exchange counts all the same', () => {
  test('a pause of everything', async ({ place }) => {
    const { other, held, trade } = await usual(place)
    await other.admin.setPaused(null, true)
    expect(await trade()).toMatchObject({ claims: [], refused: [] })
    expect(await statusOf(other, held)).toBe('completed')
    expect(await place.rows('SELECT 1 FROM gleaner.tasks WHERE fence IS NOT NULL')).toEqual([])
  })

  test('a pause of its queue', async ({ place }) => {
    const { store, other, held, trade } = await usual(place)
    await other.admin.setPaused('default', true)
    // The first notices that settings have changed, the second knows them: only the pause itself is left to be seen.
    for (let n = 0; n < 2; n++) await store.tasks.enqueue([newTask()])
    expect((await trade()).claims).toEqual([])
    expect(await statusOf(other, held)).toBe('completed')
  })

  test('the order of its queue', async ({ place }) => {
    const { other, trade } = await usual(place)
    await other.admin.configureQueues([{ name: 'default', ordering: { strategy: 'lifo', ageingMs: null } }])
    while (await other.maintenance.rerank());
    expect(inputsOf(await trade(2))).toEqual(['9', '8'])
  })

  test('a limit', async ({ place }) => {
    const { other, trade } = await usual(place)
    await other.admin.planLimits([{ queue: 'default', limit: { concurrency: 2, rate: null } }])
    expect((await trade(5)).claims).toHaveLength(2)
  })

  test('a name that nobody had enqueued before', async ({ place }) => {
    const { other, trade } = await usual(place)
    await other.tasks.enqueue([newTask({ name: 'late', input: '"late"', priority: 1 })])
    expect(inputsOf(await trade())).toEqual(['"late"'])
  })

  test('a task that has become due', async ({ place }) => {
    const { clock, other, trade } = await usual(place)
    await other.tasks.enqueue([newTask({ input: '"due"', priority: 1, runAfter: { ms: 1_000 } })])
    clock.advance(1_000)
    expect(inputsOf(await trade())).toEqual(['"due"'])
  })

  test('a suspect, which an empty worker takes alone', async ({ place }) => {
    const { clock, other, trade } = await usual(place)
    const crashing = await new Claimant(other, clock, { worker: 'worker:test:1' }).begin()
    await crashing.claim(2)
    await crashing.end('crash')
    const { claims } = await trade(5)
    expect(claims).toMatchObject([{ suspect: true }])
  })

  test('the end of its session', async ({ place }) => {
    const { other, worker, held, trade } = await usual(place)
    await other.sessions.endSession(worker.session, 'lease')
    expect(await trade()).toMatchObject({ claims: [], refused: [held.id], sessionEnded: true })
    expect(await statusOf(other, held)).toBe('queued')
  })

  test('a cancel, which is told', async ({ place }) => {
    const { other, held, worker } = await usual(place)
    await other.tasks.cancelTask(held.id)
    const want = { able: worker.able, start: 1, ahead: 0, empty: false }
    expect(await worker.exchange({ want })).toMatchObject({ cancels: [held.id], claims: [{}] })
  })
})

test('who ends the session while it is asked for waits for it, and finds what it claimed', async ({
  place,
}) => {
  const { other, worker, held, trade } = await usual(place)
  const client = await place.client()
  await client.query('BEGIN')
  await client.query(`SELECT 1 FROM ${place.schema}.tasks WHERE id = $1 FOR UPDATE`, [held.id])
  const trading = trade()
  await place.until('its completion waits for us', async () => (await waiting(place)) === 1)
  const ending = other.sessions.endSession(worker.session, 'lease')
  await place.until('the end waits for its commit', async () => (await waiting(place)) === 2)
  await client.query('COMMIT')
  const { claims } = await trading
  expect(await ending).toMatchObject({ returned: 1 })
  expect(await statusOf(other, held)).toBe('completed')
  expect(await statusOf(other, claims[0]!)).toBe('queued')
})

/** The server's processes of this test that wait for a lock. */
async function waiting(place: Place): Promise<number> {
  const rows = await place.rows(
    'SELECT 1 FROM pg_locks JOIN pg_stat_activity USING (pid) WHERE NOT granted AND query LIKE $1',
    [`%${place.schema}%`],
  )
  return rows.length
}

test('a claim that is in other hands is refused, and the others are taken', async ({ place }) => {
  const { worker, other, held } = await usual(place)
  const { claims } = await worker.take(2)
  const late = { ...claims[0]!, fence: held.fence }
  const answer = await handIn(worker, [held, late, claims[1]!])
  expect(answer.refused).toEqual([late.id])
  expect(answer.claims).toHaveLength(1)
  expect(await statusOf(other, claims[1]!)).toBe('completed')
  expect(await statusOf(other, late)).toBe('running')
})

test('should a statement of it fail, nothing is done, and the one that failed is named', async ({
  place,
}) => {
  const { other, held, trade } = await usual(place)
  await place.rows(`ALTER TABLE gleaner.tallies ADD CHECK (completed = 0) NOT VALID`)
  await expect(trade()).rejects.toMatchObject({ cause: { code: '23514' } })
  expect(await statusOf(other, held)).toBe('running')
  await place.rows(`ALTER TABLE gleaner.tallies DROP CONSTRAINT tallies_completed_check`)
  expect((await trade()).claims).toHaveLength(1)
})

test('starts, progress and log lines go along in the same journey', async ({ place }) => {
  const { clock, other, worker, held } = await usual(place)
  const [, prefetched] = (await worker.take(1, 1)).claims
  const transaction = vi.spyOn(Database.prototype, 'transaction')
  const answer = await worker.exchange({
    starts: [proofOf(prefetched!, clock)],
    progress: [{ id: held.id, fence: held.fence, fraction: 0.5, message: 'half' }],
    logs: [logOf(held, clock, ['one', 'two']), logOf(prefetched!, clock, ['first'])],
    outcomes: [{ ...proofOf(held, clock), outcome: { kind: 'completed', result: null } }],
    want: { able: worker.able, start: 1, ahead: 0, empty: false },
  })
  expect(transaction).not.toHaveBeenCalled()
  expect(answer).toMatchObject({ refused: [], claims: [{}] })
  expect(await other.tasks.getTask(held.id)).toMatchObject({
    status: 'completed',
    progress: { fraction: 0.5 },
  })
  expect(await other.tasks.getTask(prefetched!.id)).toMatchObject({
    status: 'running',
    startedAt: clock.now(),
  })
  expect(await linesOf(other, held)).toEqual(['one', 'two'])
  expect(await linesOf(other, prefetched!)).toEqual(['first'])
})

test('reports of a task that another worker holds now change nothing, and its start is refused', async ({
  place,
}) => {
  const { clock, other, worker, held } = await usual(place)
  const late = { ...held, fence: held.fence - 1 }
  const answer = await worker.exchange({
    starts: [proofOf(late, clock)],
    progress: [{ id: late.id, fence: late.fence, fraction: 0.5, message: null }],
    logs: [logOf(late, clock, ['late'])],
  })
  expect(answer.refused).toEqual([late.id])
  expect(await other.tasks.getTask(held.id)).toMatchObject({ status: 'running', progress: null })
  expect(await linesOf(other, held)).toEqual([])
})

test('reports of a journey that does nothing are handed in step by step, once', async ({ place }) => {
  const { clock, other, worker, held } = await usual(place)
  await other.admin.setPaused(null, true)
  await worker.exchange({ logs: [logOf(held, clock, ['said once'])] })
  expect(await linesOf(other, held)).toEqual(['said once'])
})

test('a failure is handed in after what was completed and claimed with it', async ({ place }) => {
  const { clock, other, worker, held } = await usual(place)
  const { claims } = await worker.take(2)
  const answer = await worker.exchange({
    outcomes: [
      { ...proofOf(held, clock), outcome: failed },
      { ...proofOf(claims[0]!, clock), outcome: { kind: 'completed', result: null } },
    ],
    logs: [logOf(held, clock, ['the last line'])],
    want: { able: worker.able, start: 1, ahead: 0, empty: false },
  })
  expect(answer).toMatchObject({ refused: [], claims: [{}] })
  expect(await statusOf(other, held)).toBe('failed')
  expect(await statusOf(other, claims[0]!)).toBe('completed')
  expect(await linesOf(other, held)).toEqual(['the last line'])
})

test('a task whose failure never arrives stays within reach of the end of its session', async ({ place }) => {
  const { clock, other, worker, held } = await usual(place)
  const transaction = vi.spyOn(Database.prototype, 'inSteps').mockRejectedValueOnce(new Error('cut'))
  const exchange = { outcomes: [{ ...proofOf(held, clock), outcome: failed }] }
  await expect(worker.exchange(exchange)).rejects.toThrow('cut')
  expect(transaction).toHaveBeenCalledOnce()
  expect(await other.sessions.endSession(worker.session, 'lease')).toMatchObject({ returned: 1 })
  expect(await statusOf(other, held)).toBe('queued')
})

test('lines beyond the limit of a task drop its oldest, also when they come all at once', async ({
  place,
}) => {
  const { clock, other, worker, held } = await usual(place)
  const lines = Array.from({ length: LOG_LINES_MAX + 20 }, (_, n) => String(n))
  await worker.exchange({ logs: [logOf(held, clock, lines.slice(0, 15))] })
  await worker.exchange({ logs: [logOf(held, clock, lines.slice(15))] })
  expect(await linesOf(other, held)).toEqual(lines.slice(20))
  await worker.exchange({ logs: [logOf(held, clock, lines)] })
  expect(await linesOf(other, held)).toEqual(lines.slice(20))
})

const failed = {
  kind: 'failed',
  failure: { kind: 'permanent', message: 'broken', stack: null },
  retryAfterMs: null,
} as const

function proofOf({ id, fence }: Claim, clock: ManualClock) {
  return { id, fence, startedAt: clock.now() }
}

function logOf({ id, fence }: Claim, clock: ManualClock, messages: string[]) {
  const lines = messages.map((message) => ({
    at: clock.now(),
    attempt: 1,
    level: 'info' as const,
    message,
    details: null,
  }))
  return { id, fence, lines }
}

async function linesOf(store: Store, { id }: Claim): Promise<string[]> {
  const { items } = await store.tasks.taskLogs(id, { limit: LOG_LINES_MAX, cursor: null })
  return items.map(({ message }) => message)
}
