import { concurrency, limitQueue } from './limiting.ts'
import type { Theme } from './theme.ts'
import { idsOf, newTask, type World } from './world.ts'

/** More than a queue has lanes of their own, and more queues than a claim tries one after the other. */
const MANY = 40

/** More queues than a claim reads. */
const HUNDREDS = 140

const namesOf = (count: number) => Array.from({ length: count }, (_, n) => `name-${n}`)
const queuesOf = (count: number) => Array.from({ length: count }, (_, n) => `queue-${n}`)

/** One of each name, in an order of priorities that is not the order of their ids. Ids in the order of the queue. */
async function oneOfEach(world: World, names: readonly string[], rounds = 1): Promise<string[]> {
  const tasks = Array.from({ length: rounds }, (_, round) =>
    names.map((name, n) => newTask({ name, priority: 1 + ((n * 7 + round * 13) % 50) })),
  ).flat()
  const created = await world.store.tasks.enqueue(tasks)
  return tasks
    .map(({ priority }, i) => ({ priority, id: created[i]!.id }))
    .toSorted((a, b) => a.priority - b.priority || Number(a.id) - Number(b.id))
    .map(({ id }) => id)
}

export const manyLanes: Theme = (specify, expect) => {
  specify('tasks of many names are claimed in the order of their queue', async (world) => {
    const names = namesOf(MANY)
    const ids = await oneOfEach(world, names, 3)
    const worker = await world.worker({ names })
    const claimed: string[] = []
    for (const [start, ahead] of [
      [1, 0],
      [7, 0],
      [5, 20],
      [100, 100],
    ] as const)
      claimed.push(...idsOf(await worker.claim(start, ahead)))
    expect(claimed).toEqual(ids)
  })

  specify('the last of many names comes first where the last is first', async (world) => {
    await world.store.admin.configureQueues([
      { name: 'default', ordering: { strategy: 'lifo', ageingMs: null } },
    ])
    const names = namesOf(MANY)
    const ids: string[] = []
    for (const name of names) {
      ids.push(await world.enqueue({ name }))
      world.clock.advance(1)
    }
    const worker = await world.worker({ names })
    expect(idsOf(await worker.claim(MANY))).toEqual(ids.toReversed())
  })

  specify('a worker that has no code for some of many names claims the others in order', async (world) => {
    const names = namesOf(MANY)
    for (const served of [names.slice(1), names.slice(0, MANY / 2), names.slice(-1), names.slice(0, 1)]) {
      const ids = await oneOfEach(world, names)
      const worker = await world.worker({ names: served })
      const claims = await worker.claim(MANY)
      expect(claims.map(({ name }) => name).toSorted()).toEqual(served.toSorted())
      expect(idsOf(claims)).toEqual(ids.filter((id) => idsOf(claims).includes(id)))
      for (const claim of claims) await worker.complete(claim)
      const rest = await world.worker({ names, worker: 'worker:test:1' })
      for (const claim of await rest.claim(MANY)) await rest.complete(claim)
    }
  })

  specify(
    'behind hundreds of tasks of names that a worker has no code for its own is found',
    async (world) => {
      const names = namesOf(MANY)
      await oneOfEach(world, names.slice(1), 8)
      const id = await world.enqueue({ name: 'name-0', priority: 900 })
      const last = await world.enqueue({ name: `name-${MANY}`, priority: 900 })
      const worker = await world.worker({ names: ['name-0', `name-${MANY}`] })
      expect(idsOf(await worker.claim(5))).toEqual([id, last])
      expect(await worker.claim(5)).toEqual([])
    },
  )

  specify('what is given back, or fails, of many names stands where it should', async (world) => {
    const names = namesOf(MANY)
    const ids = await oneOfEach(world, names)
    const worker = await world.worker({ names })
    const [first, second, ...others] = await worker.claim(10)
    await worker.settle(second!, { kind: 'returned' })
    for (const claim of others) await worker.settle(claim, { kind: 'returned' })
    await worker.complete(first!)
    expect(idsOf(await worker.claim(MANY))).toEqual(ids.slice(1))
  })

  specify('a suspect of many names is run alone, before the others', async (world) => {
    const names = namesOf(MANY)
    const ids = await oneOfEach(world, names)
    const gone = await world.worker({ names, worker: 'worker:test:9' })
    expect(idsOf(await gone.claim(1))).toEqual([ids[0]])
    await gone.end('crash')
    const worker = await world.worker({ names })
    expect(await worker.claim(5)).toMatchObject([{ id: ids[0], suspect: true }])
    expect(idsOf(await worker.claim(2))).toEqual(ids.slice(1, 3))
  })

  specify(
    'many queues take turns, one after the other, in the order the worker names them',
    async (world) => {
      const queues = queuesOf(MANY)
      for (const queue of queues.toReversed()) await world.enqueueMany(3, { queue })
      const worker = await world.worker({ queues })
      const served: string[] = []
      for (let i = 0; i < 2 * MANY; i++) served.push((await worker.claimOne()).queue)
      expect(served).toEqual([...queues, ...queues])
      expect((await worker.claim(7)).map(({ queue }) => queue)).toEqual(queues.slice(0, 7))
      expect((await worker.claim(10, 50)).map(({ queue }) => queue)).toEqual(queues.slice(7))
    },
  )

  specify('few of many queues have something, and share the turns', async (world) => {
    const queues = queuesOf(MANY)
    for (const queue of queues) await world.enqueue({ queue })
    const worker = await world.worker({ queues })
    for (const claim of await worker.claim(MANY)) await worker.complete(claim)
    await world.enqueueMany(20, { queue: 'queue-3' })
    await world.enqueueMany(2, { queue: 'queue-25' })
    await world.enqueueMany(20, { queue: 'queue-38' })
    const claims = await worker.claim(11)
    const [a, b, c] = ['queue-3', 'queue-25', 'queue-38']
    expect(claims.map(({ queue }) => queue)).toEqual([a, b, c, a, b, c, a, c, a, c, a])
    expect((await worker.claimOne()).queue).toBe(c)
  })

  specify('of many queues those that are paused or full leave their turn to the others', async (world) => {
    const queues = queuesOf(MANY)
    for (const queue of queues) await world.enqueueMany(2, { queue })
    for (const queue of queues.slice(0, 20)) await world.store.admin.setPaused(queue, true)
    await limitQueue(world, concurrency(1), 'queue-30')
    const worker = await world.worker({ queues })
    const expected = queues.slice(20)
    expect((await worker.claim(20)).map(({ queue }) => queue)).toEqual(expected)
    const rest = await worker.claim(MANY)
    expect(rest.map(({ queue }) => queue)).toEqual(expected.filter((queue) => queue !== 'queue-30'))
    expect(await worker.claim(MANY)).toEqual([])
  })

  specify('each of hundreds of queues has its turn, and no task is left', async (world) => {
    const queues = queuesOf(HUNDREDS)
    for (const queue of queues.toReversed()) await world.enqueueMany(2, { queue })
    const worker = await world.worker({ queues })
    const served: string[] = []
    while (served.length < 2 * HUNDREDS) {
      const claims = await worker.claim(29)
      expect(claims.length).toBeGreaterThan(0)
      served.push(...claims.map(({ queue }) => queue))
      await worker.completeAll(claims)
    }
    expect(served).toEqual([...queues, ...queues])
    expect(await worker.claim(9)).toEqual([])
  })

  specify(
    'what is prefetched of hundreds of queues comes some of each, and each queue has its turn',
    async (world) => {
      const queues = queuesOf(HUNDREDS)
      for (const queue of queues) await world.enqueueMany(4, { queue })
      const worker = await world.worker({ queues })
      const served: string[] = []
      while (served.length < 4 * HUNDREDS) {
        const claims = await worker.claim(4, 32)
        const from = claims.map(({ queue }) => queue)
        expect(new Set(from.slice(0, 4)).size).toBe(4)
        if (served.length < HUNDREDS) expect(new Set(from).size).toBe(12)
        served.push(...from)
        await worker.completeAll(claims)
      }
      const firstTurns = served.slice(0, 3 * HUNDREDS)
      expect([...new Set(firstTurns)]).toEqual(queues)
      expect(served.length).toBe(4 * HUNDREDS)
    },
  )

  specify('of hundreds of queues the few that have something share the turns', async (world) => {
    const queues = queuesOf(HUNDREDS)
    await Promise.all(queues.map((queue) => world.enqueue({ queue })))
    const worker = await world.worker({ queues })
    await worker.completeAll(await worker.claim(HUNDREDS))
    const [a, b, c] = ['queue-3', `queue-${HUNDREDS / 2}`, `queue-${HUNDREDS - 1}`]
    await world.enqueueMany(20, { queue: a })
    await world.enqueueMany(2, { queue: b })
    await world.enqueueMany(20, { queue: c })
    const served: string[] = []
    while (served.length < 42) {
      const claims = await worker.claim(3)
      expect(claims.length).toBeGreaterThan(0)
      served.push(...claims.map(({ queue }) => queue))
      await worker.completeAll(claims)
      world.clock.advance(10)
    }
    expect(served.slice(0, 11)).toEqual([a, b, c, a, b, c, a, c, a, c, a])
    expect(await worker.claim(3)).toEqual([])
  })

  specify(
    'a worker with code for some of many names finishes all of them, in order, between and behind the others',
    async (world) => {
      const names = namesOf(MANY)
      const served = [names[2]!, names[20]!, names[30]!]
      const ids = await oneOfEach(world, names, 10)
      const worker = await world.worker({ names: served })
      const done: string[] = []
      while (done.length < 30) {
        const claims = await worker.claim(2, 2)
        expect(claims.length).toBeGreaterThan(0)
        expect(claims.every(({ name }) => served.includes(name))).toBe(true)
        done.push(...idsOf(claims))
        await worker.completeAll(claims)
      }
      expect(done).toEqual(ids.filter((id) => done.includes(id)))
      expect(await worker.claim(5)).toEqual([])
      const rest = await world.worker({ names, worker: 'worker:test:1' })
      expect(idsOf(await rest.claim(MANY * 10))).toEqual(ids.filter((id) => !done.includes(id)))
    },
  )

  specify('a name that comes later stands in its place among many', async (world) => {
    const names = namesOf(MANY)
    await oneOfEach(world, names)
    const worker = await world.worker({ names })
    await worker.completeAll(await worker.claim(MANY))
    const later = await world.worker({ names: [...names, 'later'], worker: 'worker:test:1' })
    await later.completeAll(await later.claim(1))
    const last = await world.enqueue({ name: names[12]!, priority: 500 })
    const first = await world.enqueue({ name: 'later', priority: 5 })
    expect(idsOf(await worker.claim(5))).toEqual([last])
    expect(idsOf(await later.claim(5))).toEqual([first])
  })

  specify('a queue of many names and many other queues take turns', async (world) => {
    const queues = ['default', ...queuesOf(MANY)]
    const names = namesOf(MANY)
    const ids = await oneOfEach(world, names)
    for (const queue of queues.slice(1)) await world.enqueueMany(2, { queue })
    const worker = await world.worker({ queues, names: ['job', ...names] })
    const claims = await worker.claim(MANY + 3, 2 * MANY - 3 + MANY)
    expect(claims.slice(0, MANY + 1).map(({ queue }) => queue)).toEqual(queues)
    expect(idsOf(claims.filter(({ queue }) => queue === 'default'))).toEqual(ids)
    expect(claims).toHaveLength(3 * MANY)
  })
}
