import type { Outcome } from '../../src/model/outcome.ts'
import type { Ordering } from '../../src/model/queue.ts'
import type { Claim } from '../../src/store/ports/exchange.ts'
import { Draws, seeded } from './draws.ts'
import type { Theme } from './theme.ts'
import { idsOf, newTask, type World } from './world.ts'

const DONE: Outcome = { kind: 'completed', result: null }

const ALL: Ordering[] = [
  { strategy: 'fifo', ageingMs: null },
  { strategy: 'lifo', ageingMs: null },
  { strategy: 'priority', ageingMs: null },
  { strategy: 'priority', ageingMs: 1_000 },
  { strategy: 'weighted', ageingMs: null },
]

export function orderDefault(world: World, strategy: Ordering['strategy'], ageingMs: number | null = null) {
  return world.store.admin.configureQueues([{ name: 'default', ordering: { strategy, ageingMs } }])
}

export const strategies: Theme = (specify, expect) => {
  specify('fifo: in the order in which they became due, whatever their priority and name', async (world) => {
    await orderDefault(world, 'fifo')
    const first = await world.enqueue({ priority: 1000 })
    const many = await world.enqueueMany(3, { priority: 500, name: 'other' })
    const delayed = await world.enqueue({ runAfter: { ms: 5 }, priority: 900 })
    world.clock.advance(10)
    const last = await world.enqueue({ priority: 1 })
    const worker = await world.worker({ names: ['job', 'other'] })
    expect(idsOf([...(await worker.claim(2)), ...(await worker.claim(9))])).toEqual([
      first,
      ...many,
      delayed,
      last,
    ])
  })

  specify('lifo: the last to become due is first, of each name and of one call', async (world) => {
    await orderDefault(world, 'lifo')
    const first = await world.enqueue({ priority: 1 })
    const many = await world.enqueueMany(3, { name: 'other' })
    const delayed = await world.enqueue({ runAfter: { ms: 5 } })
    world.clock.advance(10)
    const last = await world.enqueue({ priority: 1000 })
    const worker = await world.worker({ names: ['job', 'other'] })
    expect(idsOf([...(await worker.claim(2)), ...(await worker.claim(9))])).toEqual([
      last,
      delayed,
      ...many.toReversed(),
      first,
    ])
  })

  specify('lifo: what comes while others are worked on is next', async (world) => {
    await orderDefault(world, 'lifo')
    const waiting = await world.enqueueMany(3)
    const worker = await world.worker()
    expect((await worker.claimOne()).id).toBe(waiting[2])
    const newest = await world.enqueue()
    expect(idsOf(await worker.claim(3))).toEqual([newest, waiting[1], waiting[0]])
  })

  specify(
    'ageing: who waits one step longer goes before a higher priority, and not a millisecond earlier',
    async (world) => {
      await orderDefault(world, 'priority', 1_000)
      const old = await world.enqueue({ priority: 102 })
      world.clock.advance(1_999)
      const early = await world.enqueue({ priority: 100 })
      world.clock.advance(1)
      const late = await world.enqueue({ priority: 100 })
      const urgent = await world.enqueue({ priority: 1 })
      expect(idsOf(await (await world.worker()).claim(4))).toEqual([urgent, early, old, late])
    },
  )

  specify('ageing: a retry ages from the time it became due', async (world) => {
    await orderDefault(world, 'priority', 1_000)
    const worker = await world.worker()
    const failing = await world.enqueue({ priority: 101 })
    await worker.fail(await worker.claimOne(), 500)
    world.clock.advance(1_499)
    const before = await world.enqueue({ priority: 100 })
    world.clock.advance(1)
    const after = await world.enqueue({ priority: 100 })
    expect(idsOf(await worker.claim(3))).toEqual([before, failing, after])
  })

  specify('weighted: priority 1 goes before 10 in 10 of 11 draws, late comers included', async (world) => {
    const store = await world.database.open({ random: seeded(11) })
    await store.admin.configureQueues([
      { name: 'default', ordering: { strategy: 'weighted', ageingMs: null } },
    ])
    const draws = new Draws([1, 10])
    const worker = await world.worker({}, store)
    const priorityOf = new Map<string, number>()
    const enqueue = async (priority: number) => {
      priorityOf.set(await world.enqueue({ priority }, store), priority)
      draws.join(priority)
    }
    for (const priority of [1, 1, 10, 10, 10]) await enqueue(priority)
    let last: Claim[] = []
    for (let round = 0; round < 200; round++) {
      const startedAt = world.clock.now()
      const outcomes = last.map(({ id, fence }) => ({ id, fence, startedAt, outcome: DONE }))
      const want = { able: worker.able, start: 2, ahead: 0, empty: true }
      last = (await worker.exchange({ outcomes, want })).claims
      const drawn = last.map(({ id }) => priorityOf.get(id)!)
      for (const priority of drawn) draws.drew(priority)
      for (const priority of drawn) await enqueue(priority)
    }
    expect(draws.isAsExpected).toBe(true)
  })

  specify('weighted: a retry without a delay is drawn anew', async (world) => {
    const store = await world.database.open({ random: seeded(5) })
    await store.admin.configureQueues([
      { name: 'default', ordering: { strategy: 'weighted', ageingMs: null } },
    ])
    await world.enqueueMany(20, { maxAttempts: 1_000 }, store)
    const worker = await world.worker({}, store)
    const seen = new Set<string>()
    for (let round = 0; round < 60; round++) {
      const claim = await worker.claimOne()
      seen.add(claim.id)
      await worker.fail(claim, 0)
    }
    expect(seen.size).toBeGreaterThan(10)
  })

  for (const ordering of ALL) {
    const { strategy, ageingMs } = ordering
    const words = ageingMs === null ? strategy : 'priority with ageing'

    specify(`${words}: what is given back, by its worker or for it, keeps its place`, async (world) => {
      await orderDefault(world, strategy, ageingMs)
      await world.enqueueMany(5)
      world.clock.advance(1)
      await world.enqueueMany(5, { priority: 50 })
      const worker = await world.worker()
      const claims = await worker.claim(3)
      world.clock.advance(10_000)
      for (const claim of claims) await worker.giveBack(claim)
      const other = await world.worker()
      expect(idsOf(await other.claim(2, 1))).toEqual(idsOf(claims))
      await other.end('stop')
      expect(idsOf(await worker.claim(3))).toEqual(idsOf(claims))
    })

    specify(`${words}: the listing of what is queued tells who is next, page by page`, async (world) => {
      await orderDefault(world, strategy, ageingMs)
      for (const priority of [500, 1, 100, 100, 1000]) {
        await world.enqueueMany(3, { priority, name: priority === 1 ? 'other' : 'job' })
        world.clock.advance(700)
      }
      const listed = idsOf(await world.list({ status: 'queued', queue: 'default' }, 4))
      expect(listed.length).toBe(15)
      const worker = await world.worker({ names: ['job', 'other'] })
      expect(idsOf(await worker.claim(20))).toEqual(listed)
    })

    specify(`${words}: each is claimed once, whoever claims beside it, and all are`, async (world) => {
      await orderDefault(world, strategy, ageingMs)
      const ids = await world.enqueueMany(60)
      const workers = await Promise.all(
        [1, 2, 3].map(async () => world.worker({}, await world.database.open())),
      )
      const claimed: string[] = []
      for (let round = 0; round < 20 && claimed.length < ids.length; round++) {
        const claims = await Promise.all(workers.map((worker) => worker.claim(2, 3)))
        claimed.push(...claims.flatMap(idsOf))
      }
      expect(claimed.toSorted()).toEqual(ids.toSorted())
    })
  }

  specify('a suspect of each order is run alone, first', async (world) => {
    await orderDefault(world, 'lifo')
    const [first, second] = await world.enqueueMany(2)
    const worker = await world.worker()
    await worker.claim(2)
    await worker.end('crash')
    await world.enqueue()
    const next = await world.worker()
    expect(await next.claim(5)).toMatchObject([{ id: second, suspect: true }])
    await next.end('stop')
    expect(first).not.toBe(second)
  })

  specify('what is enqueued within a transaction of the user is in the order of its queue', async (world) => {
    await orderDefault(world, 'lifo')
    const first = await world.enqueue()
    const within = await world.database.transact(async (tx) => {
      const answers = await world.store.tasks
        .within(tx)
        .enqueue([newTask({ priority: 1000 }), newTask({ priority: 1 })])
      return idsOf(answers)
    })
    expect(idsOf(await (await world.worker()).claim(3))).toEqual([...within.toReversed(), first])
  })
}
