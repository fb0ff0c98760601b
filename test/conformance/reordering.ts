import type { Ordering } from '../../src/model/queue.ts'
import type { Store } from '../../src/store/ports/store.ts'
import { orderDefault } from './strategies.ts'
import type { Theme } from './theme.ts'
import { counts, idsOf } from './world.ts'

const STEPS_MAX = 100

const by = (strategy: Ordering['strategy'], ageingMs: number | null = null) => ({
  name: 'default',
  ordering: { strategy, ageingMs },
})

/** Until all stand where they should; how many steps it took. */
async function inOrder(store: Store): Promise<number> {
  for (let steps = 1; steps <= STEPS_MAX; steps++) if (!(await store.maintenance.rerank())) return steps
  throw new Error(`re-ranking did not end after ${STEPS_MAX} steps`)
}

export const reordering: Theme = (specify, expect) => {
  specify('the order of a queue is stored with it, and listed', async (world) => {
    await world.store.admin.configureQueues([
      { name: 'a', ordering: { strategy: 'priority', ageingMs: 600_000 } },
      { name: 'b', ordering: { strategy: 'weighted', ageingMs: null } },
    ])
    await world.enqueue({ queue: 'c' })
    const other = await world.database.open()
    expect(await other.admin.listQueues()).toEqual([
      { name: 'a', paused: false, strategy: 'priority', ageingMs: 600_000, chosen: [], ...counts({}) },
      { name: 'b', paused: false, strategy: 'weighted', ageingMs: null, chosen: [], ...counts({}) },
      {
        name: 'c',
        paused: false,
        strategy: 'priority',
        ageingMs: null,
        chosen: [],
        ...counts({ queued: 1 }),
      },
    ])
  })

  specify('what is not named stays as it is stored', async (world) => {
    await world.store.admin.configureQueues([by('lifo')])
    await world.store.admin.setPaused('default', true)
    await (await world.database.open()).admin.configureQueues([{ name: 'default' }])
    await (await world.database.open()).admin.configureQueues([
      { name: 'x', ordering: { strategy: 'fifo', ageingMs: null } },
    ])
    expect(await world.store.admin.listQueues()).toMatchObject([
      { name: 'default', strategy: 'lifo', paused: true },
      { name: 'x', strategy: 'fifo', paused: false },
    ])
    await world.store.admin.configureQueues([by('fifo')])
    expect((await world.store.admin.listQueues())[0]).toMatchObject({ strategy: 'fifo', paused: true })
  })

  specify(
    'a store that knew another order goes by the new one, and so does what it enqueues',
    async (world) => {
      const other = await world.database.open()
      const first = await world.enqueue({ priority: 500 }, other)
      await world.store.admin.configureQueues([by('lifo')])
      world.clock.advance(1)
      const second = await world.enqueue({ priority: 500 }, other)
      world.clock.advance(1)
      const third = await world.enqueue({ priority: 900 }, other)
      await inOrder(other)
      const worker = await world.worker({}, other)
      // The store puts them in order by itself as well, and a claim passes over what is locked for that.
      const claimed: string[] = []
      for (let turn = 0; turn < 100 && claimed.length < 3; turn++)
        claimed.push(...idsOf(await worker.claim(3 - claimed.length)))
      expect(claimed).toEqual([third, second, first])
    },
  )

  specify('fifo and lifo are two ways through the same line: nothing has to be re-ranked', async (world) => {
    await world.store.admin.configureQueues([by('fifo')])
    const ids = await world.enqueueMany(3)
    await world.store.admin.configureQueues([by('lifo')])
    expect(await world.store.maintenance.rerank()).toBe(false)
    expect(idsOf(await (await world.worker()).claim(3))).toEqual(ids.toReversed())
  })

  specify('the same order again changes nothing', async (world) => {
    await world.store.admin.configureQueues([by('weighted')])
    await world.enqueueMany(10)
    const before = idsOf(await world.list({ status: 'queued' }))
    await (await world.database.open()).admin.configureQueues([by('weighted')])
    expect(await world.store.maintenance.rerank()).toBe(false)
    expect(idsOf(await world.list({ status: 'queued' }))).toEqual(before)
  })

  specify('a new order holds for what waits, in short steps, while work goes on', async (world) => {
    const last = await world.enqueueMany(600, { priority: 1 })
    world.clock.advance(1)
    const first = await world.enqueueMany(600, { priority: 1000 })
    await world.store.admin.configureQueues([by('lifo')])
    const worker = await world.worker()
    const early = await worker.claim(10)
    expect(early.length).toBe(10)
    expect(await world.store.maintenance.rerank()).toBe(true)
    const meanwhile = await worker.claim(10)
    expect(meanwhile.length).toBe(10)
    world.clock.advance(1)
    const newcomer = await world.enqueue()
    expect(await inOrder(world.store)).toBeGreaterThan(1)
    const taken = new Set(idsOf([...early, ...meanwhile]))
    const expected = [newcomer, ...first.toReversed(), ...last.toReversed()].filter((id) => !taken.has(id))
    expect(idsOf(await worker.claim(2_000))).toEqual(expected)
    expect(await world.counts()).toEqual(counts({ running: 1_201 }))
  })

  specify('a new order that is left half-way by one is brought to its end by another', async (world) => {
    const store = await world.database.open()
    const ids = await world.enqueueMany(1_100, { priority: 7 })
    await store.admin.configureQueues([by('fifo')])
    expect(await store.maintenance.rerank()).toBe(true)
    await store.close()
    await inOrder(world.store)
    expect(await world.store.maintenance.rerank()).toBe(false)
    expect(idsOf(await (await world.worker()).claim(2_000))).toEqual(ids)
  })

  specify('several at once bring it to its end, and none is in the way of another', async (world) => {
    const ids = await world.enqueueMany(1_500, { priority: 7 })
    await world.store.admin.configureQueues([by('lifo')])
    const stores = [world.store, await world.database.open(), await world.database.open()]
    await Promise.all(stores.map(inOrder))
    await inOrder(world.store)
    expect(idsOf(await (await world.worker()).claim(2_000))).toEqual(ids.toReversed())
  })

  specify('orders that change faster than they are brought about end in the last one', async (world) => {
    const ids = await world.enqueueMany(20)
    const orders = [
      by('fifo'),
      by('priority', 5),
      by('weighted'),
      by('priority', 7),
      by('priority'),
      by('lifo'),
    ]
    for (const settings of orders) {
      await world.store.admin.configureQueues([settings])
      world.clock.advance(1)
      ids.push(await world.enqueue())
    }
    await inOrder(world.store)
    expect(idsOf(await (await world.worker()).claim(50))).toEqual(ids.toReversed())
  })

  specify('a change back leaves nobody behind', async (world) => {
    const orders = [by('fifo'), by('priority', 9), by('weighted'), by('lifo')]
    const ids: string[] = []
    for (const settings of orders) {
      await world.store.admin.configureQueues([settings])
      await inOrder(world.store)
      world.clock.advance(1)
      ids.push(await world.enqueue())
      expect(idsOf(await world.list({ status: 'queued' })).toSorted()).toEqual(ids.toSorted())
    }
    const next = await world.worker()
    expect(idsOf(await next.claim(9))).toEqual(ids.toReversed())
  })

  specify('what is held while the order changes goes back into the new one', async (world) => {
    const ids = await world.enqueueMany(4)
    const worker = await world.worker()
    const claims = await worker.claim(1, 1)
    for (const settings of [by('fifo'), by('priority', 9), by('weighted'), by('lifo')]) {
      await world.store.admin.configureQueues([settings])
      await inOrder(world.store)
    }
    for (const claim of claims) await worker.giveBack(claim)
    await inOrder(world.store)
    expect(idsOf(await worker.claim(4))).toEqual(ids.toReversed())
  })

  specify('what is delayed while the order changes comes into the new one', async (world) => {
    const delayed = await world.enqueue({ runAfter: { ms: 50 }, priority: 1 })
    const waiting = await world.enqueueMany(2)
    await orderDefault(world, 'fifo')
    await inOrder(world.store)
    world.clock.advance(50)
    expect(idsOf(await (await world.worker()).claim(3))).toEqual([...waiting, delayed])
  })

  specify('a task retried by hand comes into the order of its queue', async (world) => {
    await orderDefault(world, 'lifo')
    const worker = await world.worker()
    const retried = await world.enqueue()
    await worker.fail(await worker.claimOne())
    const waiting = await world.enqueue()
    world.clock.advance(1)
    await world.store.tasks.retryTask(retried)
    expect(idsOf(await worker.claim(2))).toEqual([retried, waiting])
  })
}
