import { describe, expect } from 'vitest'
import type { Strategy } from '../../../src/model/queue.ts'
import type { Claim } from '../../../src/store/ports/exchange.ts'
import { ManualClock } from '../../../src/testing/manual-clock.ts'
import { Claimant } from '../../conformance/claimant.ts'
import { newTask } from '../../conformance/world.ts'
import { explained, nodesOf } from './explained.ts'
import { type Place, test } from './place.ts'

const BATCH = 1_000
/** Enough to be kept off. */
const MANY = 12_000
/** The longest that anything waits for the next walk over everything. */
const WALK_AGAIN_MS = 1_000

/** A store and a worker, while somebody elsewhere looks at an old state of the database: nothing can be cleaned away. */
async function watched(place: Place) {
  const clock = new ManualClock()
  const store = await place.store({ clock })
  const worker = await new Claimant(store, clock).begin()
  const onlooker = await place.client()
  await onlooker.query('BEGIN ISOLATION LEVEL REPEATABLE READ')
  await onlooker.query(`SELECT count(*) FROM ${place.schema}.tasks`)
  const enqueue = async (count: number) => {
    // Later than whatever was there before.
    clock.advance(1)
    await store.tasks.enqueue(Array.from({ length: count }, () => newTask()))
  }
  return { clock, store, worker, enqueue }
}

/** Everything passes through, and stays in the index as a dead row. */
async function passThrough(worker: Claimant, count: number): Promise<void> {
  for (let passed = 0; passed < count; passed += BATCH) await complete(worker, await worker.claim(BATCH))
}

function complete(worker: Claimant, claims: Claim[]) {
  const outcome = { kind: 'completed', result: null } as const
  return worker.exchange({
    outcomes: claims.map(({ id, fence }) => ({ id, fence, startedAt: worker.clock.now(), outcome })),
  })
}

/** The pages of the index and of the table that a claim looks at to find the next. */
async function pagesOf(claim: () => Promise<Claim[]>): Promise<number> {
  const plans = await explained(isClaim, async () => expect(await claim()).toHaveLength(10))
  const walks = plans.flatMap(nodesOf).filter((node) => node['Index Name'] === 'tasks_ready')
  return walks.reduce((sum, walk) => sum + walk['Shared Hit Blocks'] + walk['Shared Read Blocks'], 0)
}

function isClaim(text: string): boolean {
  return text.includes('SKIP LOCKED') && text.includes('NOT suspect')
}

test('a claim steps over the last batch of dead rows, not over all 30 000 that nobody can clean away', ({
  place,
}) => expectDeadRowsKeptOff(place))

test('a claim from the end steps over no more of them', ({ place }) => expectDeadRowsKeptOff(place, 'lifo'))

async function expectDeadRowsKeptOff(place: Place, strategy: Strategy = 'priority') {
  const { clock, store, worker, enqueue } = await watched(place)
  await store.admin.configureQueues([{ name: 'default', ordering: { strategy, ageingMs: null } }])
  for (let n = 0; n < 31; n++) await enqueue(1_000)
  await place.rows('ANALYZE gleaner.tasks')
  const atFirst = await pagesOf(() => worker.claim(10))
  await passThrough(worker, 30_000)
  const atLast = await pagesOf(() => worker.claim(10))
  clock.advance(WALK_AGAIN_MS)
  const fromTheStart = await pagesOf(() => worker.claim(10))
  console.log(`pages of a claim: ${atFirst} at first, ${atLast} at last, ${fromTheStart} from the start`)
  // The dead are really there: whoever begins at the start steps over all of them.
  expect(fromTheStart).toBeGreaterThan(500)
  // One batch of dead rows at most: those that were claimed together with the last mark.
  expect(atLast).toBeLessThan(100)
}

describe('behind many dead rows', () => {
  test('of a queue whose last is first, what comes is next, and what waited before comes after it', async ({
    place,
  }) => {
    const { worker, store, enqueue } = await watched(place)
    await store.admin.configureQueues([{ name: 'default', ordering: { strategy: 'lifo', ageingMs: null } }])
    for (let n = 0; n < 13; n++) await enqueue(1_000)
    await passThrough(worker, MANY)
    await enqueue(3)
    const first = await worker.claim(2)
    await enqueue(2)
    const claims = [...first, ...(await worker.claim(3)), ...(await worker.claim(2))]
    const newest = 13_005
    expect(claims.map(({ id }) => Number(id))).toEqual([
      13_003,
      13_002,
      newest,
      newest - 1,
      13_001,
      1_000,
      999,
    ])
  })

  test('a task with a higher priority that comes later is the next', async ({ place }) => {
    const { worker, store, enqueue } = await watched(place)
    await enqueue(MANY + 1_000)
    await passThrough(worker, MANY)
    const [urgent] = await store.tasks.enqueue([newTask({ priority: 1 })])
    expect((await worker.claimOne()).id).toBe(urgent!.id)
  })

  test('a task of a queue that nobody has claimed from is found at once', async ({ place }) => {
    const { clock, store, worker, enqueue } = await watched(place)
    const both = await new Claimant(store, clock, { queues: ['default', 'other'] }).begin()
    await enqueue(MANY)
    await passThrough(worker, MANY)
    const [task] = await store.tasks.enqueue([newTask({ queue: 'other' })])
    expect((await both.claimOne()).id).toBe(task!.id)
  })

  test.for(['in one journey', 'step by step'])(
    'a task that was committed late, before all that were claimed meanwhile, is the next within a second, %s',
    async (way, { place }) => {
      const { clock, store, worker, enqueue } = await watched(place)
      if (way === 'step by step') await store.admin.setPaused('another', true)
      const slow = await place.client()
      await slow.query('BEGIN')
      await enqueue(MANY)
      clock.advance(1)
      const [late] = await store.tasks.within(slow).enqueue([newTask()])
      await enqueue(2 * BATCH)
      await passThrough(worker, MANY + BATCH)
      await slow.query('COMMIT')
      clock.advance(WALK_AGAIN_MS)
      expect((await worker.claimOne()).id).toBe(late!.id)
    },
  )

  test('a task that was given back keeps its place, and is the next within a second', async ({ place }) => {
    const { clock, worker, enqueue } = await watched(place)
    await enqueue(1)
    await enqueue(MANY + 1_000)
    const early = await worker.claimOne()
    await passThrough(worker, MANY)
    await worker.giveBack(early)
    clock.advance(WALK_AGAIN_MS)
    expect((await worker.claimOne()).id).toBe(early.id)
  })

  test('a task that failed and is due again is found at once', async ({ place }) => {
    const { clock, worker, enqueue } = await watched(place)
    await enqueue(MANY + 1)
    const early = await worker.claimOne()
    await worker.fail(early, 10)
    clock.advance(5)
    await passThrough(worker, MANY)
    expect(await worker.claim()).toEqual([])
    clock.advance(5)
    expect((await worker.claimOne()).id).toBe(early.id)
  })

  test('a worker that finds nothing is told to look again within a second', async ({ place }) => {
    const { clock, worker, enqueue } = await watched(place)
    await enqueue(1)
    await enqueue(MANY)
    const early = await worker.claimOne()
    await passThrough(worker, MANY)
    await worker.giveBack(early)
    const { claims, nextDueInMs } = await worker.take()
    expect(claims).toEqual([])
    expect(nextDueInMs).toBeGreaterThan(0)
    expect(nextDueInMs).toBeLessThanOrEqual(WALK_AGAIN_MS)
    clock.advance(nextDueInMs!)
    expect((await worker.claimOne()).id).toBe(early.id)
  })

  test('who must know that there is nothing looks everywhere', async ({ place }) => {
    const { worker, enqueue } = await watched(place)
    await enqueue(1)
    await enqueue(MANY)
    const early = await worker.claimOne()
    await passThrough(worker, MANY)
    await worker.giveBack(early)
    const want = { able: worker.able, start: 1, ahead: 0, empty: true, thorough: true }
    expect((await worker.exchange({ want })).claims).toMatchObject([{ id: early.id }])
  })
})
