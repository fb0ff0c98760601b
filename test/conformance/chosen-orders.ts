import { chosenOrders } from '../../src/model/chosen-order.ts'
import type { Strategy } from '../../src/model/queue.ts'
import { Draws, seeded } from './draws.ts'
import { orderDefault } from './strategies.ts'
import type { Theme } from './theme.ts'
import { idsOf, type World } from './world.ts'

const STRATEGIES: Strategy[] = ['fifo', 'lifo', 'priority']

/** A worker that serves the queue in an order of its own, or in which some types have one. */
function workerWith(
  world: World,
  queue: Strategy | null,
  types: Record<string, Strategy> = {},
  names: readonly string[] = ['job', 'other'],
) {
  const ofQueue = new Map<string, Strategy>(queue === null ? [] : [['default', queue]])
  return world.worker({ names, orders: chosenOrders(ofQueue, new Map(Object.entries(types))) })
}

export const ordersOfWorkers: Theme = (specify, expect) => {
  /** Priorities in the order in which these tasks become due, and the order in which each strategy takes them. */
  const PRIORITIES = [500, 100, 1, 500, 100, 1000]
  const EXPECTED: Record<string, number[]> = {
    fifo: [0, 1, 2, 3, 4, 5],
    lifo: [5, 4, 3, 2, 1, 0],
    priority: [2, 1, 4, 0, 3, 5],
  }
  for (const stored of ['priority', 'fifo', 'lifo', 'weighted'] as const) {
    for (const chosen of STRATEGIES) {
      specify(`a worker takes ${chosen} from a queue that is stored as ${stored}`, async (world) => {
        await orderDefault(world, stored)
        const ids: string[] = []
        for (const [i, priority] of PRIORITIES.entries()) {
          ids.push(await world.enqueue({ priority, name: i % 2 === 0 ? 'job' : 'other' }))
          world.clock.advance(1)
        }
        const worker = await workerWith(world, chosen)
        const taken = [...(await worker.claim(1)), ...(await worker.claim(2)), ...(await worker.claim(9))]
        expect(idsOf(taken)).toEqual(EXPECTED[chosen]!.map((place) => ids[place]!))
      })
    }
  }

  specify(
    'the order of one worker changes nothing for the others, and nothing of what is stored',
    async (world) => {
      const ids: string[] = []
      for (const priority of [3, 1, 2]) ids.push(await world.enqueue({ priority }))
      const last = await workerWith(world, 'lifo')
      const usual = await world.worker({ worker: 'worker:test:1' })
      expect(idsOf(await last.claim(1))).toEqual([ids[2]])
      expect(idsOf(await usual.claim(2))).toEqual([ids[1], ids[0]])
      expect(await world.store.admin.listQueues()).toMatchObject([{ name: 'default', strategy: 'priority' }])
    },
  )

  specify('weighted: priority 1 goes before 10 in 10 of 11 draws of a worker', async (world) => {
    const store = await world.database.open({ random: seeded(7) })
    const draws = new Draws([1, 10])
    const orders = chosenOrders(new Map([['default', 'weighted']]), new Map())
    const worker = await world.worker({ orders }, store)
    const priorityOf = new Map<string, number>()
    const enqueue = async (priority: number) => {
      priorityOf.set(await world.enqueue({ priority }, store), priority)
      draws.join(priority)
    }
    for (const priority of [1, 1, 10, 10, 10]) await enqueue(priority)
    for (let round = 0; round < 150; round++) {
      const claims = await worker.claim(1)
      await worker.completeAll(claims)
      const drawn = claims.map(({ id }) => priorityOf.get(id)!)
      for (const priority of drawn) draws.drew(priority)
      for (const priority of drawn) await enqueue(priority)
    }
    expect(draws.isAsExpected).toBe(true)
  })

  specify('two workers that take lifo at the same time never take the same task', async (world) => {
    const ids = await world.enqueueMany(40)
    const other = await world.database.open()
    const orders = chosenOrders(new Map([['default', 'lifo']]), new Map())
    const workers = await Promise.all([
      world.worker({ worker: 'worker:test:0', orders }),
      world.worker({ worker: 'worker:test:1', orders }, other),
    ])
    const taken: string[] = []
    for (let round = 0; round < 60 && taken.length < ids.length; round++) {
      const claims = await Promise.all(workers.map((worker) => worker.claim(3)))
      taken.push(...idsOf(claims.flat()))
    }
    expect([...taken].sort((a, b) => Number(a) - Number(b))).toEqual(ids)
  })

  specify('the limits of a queue and of keys hold in an order that a worker chose', async (world) => {
    await world.store.admin.planLimits([
      { queue: 'default', limit: { concurrency: 3, rate: null } },
      { task: 'keyed', limit: { concurrency: 1, rate: null } },
    ])
    const plain = await world.enqueueMany(2)
    const keyed = await world.enqueueMany(2, { name: 'keyed', limitKey: 'a' })
    const worker = await workerWith(world, 'lifo', {}, ['job', 'keyed'])
    const claims = await worker.claim(9)
    expect(claims).toHaveLength(3)
    expect(claims.filter(({ name }) => name === 'keyed')).toHaveLength(1)
    await worker.completeAll(claims)
    const rest = await worker.claim(9)
    expect(idsOf([...claims, ...rest]).sort()).toEqual([...plain, ...keyed].sort())
  })

  specify(
    'who serves a queue in another order is named by the list of queues and by explain',
    async (world) => {
      const id = await world.enqueue()
      await world.store.sessions.openSession({
        worker: 'worker:media:0',
        process: (await world.worker()).process,
        queues: ['default'],
        names: ['job'],
        capabilities: {},
        strategies: { default: 'lifo' },
      })
      expect(await world.store.admin.listQueues()).toMatchObject([
        { name: 'default', strategy: 'priority', chosen: [{ worker: 'worker:media:0', strategy: 'lifo' }] },
      ])
      const circumstances = await world.store.tasks.circumstancesOf(id)
      expect(circumstances?.workers.filter(({ strategies }) => strategies.default === 'lifo')).toHaveLength(1)
    },
  )
}

export const ordersOfTypes: Theme = (specify, expect) => {
  specify('a type takes its own order among its tasks, and its turns as the queue says', async (world) => {
    const ids: string[] = []
    for (const name of ['job', 'other', 'job', 'other', 'job']) {
      ids.push(await world.enqueue({ name }))
      world.clock.advance(1)
    }
    const worker = await workerWith(world, null, { job: 'lifo' })
    const taken = [...(await worker.claim(2)), ...(await worker.claim(3))]
    // The last of job takes the first turn. Then the first and the third wait before the second of other.
    expect(idsOf(taken)).toEqual([ids[4], ids[1], ids[2], ids[0], ids[3]])
  })

  specify('a type has its own order in a queue that the worker serves in another one', async (world) => {
    const ids: string[] = []
    for (const priority of [3, 1, 2]) {
      ids.push(await world.enqueue({ priority }))
      world.clock.advance(1)
    }
    const other = await world.enqueue({ name: 'other', priority: 1000 })
    const worker = await workerWith(world, 'lifo', { job: 'priority' })
    expect(idsOf(await worker.claim(9))).toEqual([other, ids[1], ids[2], ids[0]])
  })

  specify('a type has its own order among thousands of other names that share a line', async (world) => {
    const many = Array.from({ length: 12 }, (_, i) => `name-${i}`)
    for (const name of many) await world.enqueue({ name })
    world.clock.advance(1)
    const [first, second] = [await world.enqueue({ name: 'last' }), await world.enqueue({ name: 'last' })]
    const worker = await workerWith(world, null, { last: 'lifo' }, [...many, 'last'])
    const taken = [...(await worker.claim(12)), ...(await worker.claim(9))]
    expect(idsOf(taken).slice(12)).toEqual([second, first])
  })
}
