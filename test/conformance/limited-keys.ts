import { concurrency, limitKeys, limitQueue, ofKey, rate } from './limiting.ts'
import type { Theme } from './theme.ts'
import { counts, idsOf, newTask } from './world.ts'

export const limitedKeys: Theme = (specify, expect) => {
  specify('no more of a key are held than its limit says, by all stores together', async (world) => {
    await limitKeys(world, concurrency(2))
    await ofKey(world, 'a', 5)
    const b = await ofKey(world, 'b', 1)
    const one = await world.worker()
    const other = await world.worker({}, await world.database.open())
    const first = await one.claim(10)
    expect(first).toHaveLength(3)
    expect(idsOf(first)).toContain(b[0])
    expect(await other.claim(10)).toEqual([])
    await one.completeAll(first)
    expect(await other.claim(10)).toHaveLength(2)
    expect(await one.claim(10)).toEqual([])
  })

  specify('a key is limited as one, whatever its tasks require', async (world) => {
    await limitKeys(world, concurrency(1))
    await world.enqueue({ limitKey: 'a', requires: { gpu: true } })
    await world.enqueue({ limitKey: 'a' })
    const worker = await world.worker({ capabilities: { gpu: true } })
    const [first, ...more] = await worker.claim(5)
    expect(more).toEqual([])
    await worker.complete(first!)
    expect(await worker.claim(5)).toHaveLength(1)
  })

  specify('a key whose tasks nobody here can run keeps no other from its turn', async (world) => {
    await limitKeys(world, concurrency(1))
    await world.enqueue({ limitKey: 'a', requires: { gpu: true } })
    const plain = await world.enqueue({ limitKey: 'a' })
    const worker = await world.worker()
    expect(idsOf(await worker.claim(5))).toEqual([plain])
  })

  specify('the same key of another task, or in another queue, is another one', async (world) => {
    await limitKeys(world, concurrency(1))
    await limitKeys(world, concurrency(1), 'other')
    await world.enqueue({ limitKey: 'a' })
    await world.enqueue({ limitKey: 'a', name: 'other' })
    await world.enqueue({ limitKey: 'a', queue: 'else' })
    const worker = await world.worker({ names: ['job', 'other'], queues: ['default', 'else'] })
    expect(await worker.claim(5)).toHaveLength(3)
  })

  specify('both limits hold: of the queue, and of each key in it', async (world) => {
    await limitQueue(world, concurrency(3))
    await limitKeys(world, concurrency(2))
    await ofKey(world, 'a', 3)
    await ofKey(world, 'b', 3)
    const worker = await world.worker()
    const claims = await worker.claim(10)
    expect(claims).toHaveLength(3)
    await worker.complete(claims[0]!)
    expect(await worker.claim(10)).toHaveLength(1)
  })

  specify('keys take turns, however much one of them has waiting', async (world) => {
    await limitKeys(world, concurrency(100))
    const keyOf = new Map<string, string>()
    for (const [key, count] of [
      ['noisy', 50],
      ['b', 3],
      ['c', 3],
    ] as const) {
      for (const id of await ofKey(world, key, count)) keyOf.set(id, key)
    }
    const worker = await world.worker()
    const served: string[] = []
    for (let turn = 0; turn < 9; turn++) {
      const claim = await worker.claimOne()
      served.push(keyOf.get(claim.id)!)
      await worker.complete(claim)
    }
    for (const round of [0, 3, 6]) expect(served.slice(round, round + 3).sort()).toEqual(['b', 'c', 'noisy'])
  })

  specify(
    'keys take turns also where the queue itself is limited, and beside tasks without a key',
    async (world) => {
      await limitQueue(world, concurrency(2))
      await limitKeys(world, concurrency(5))
      await ofKey(world, 'noisy', 30)
      world.clock.advance(10)
      await world.enqueueMany(4)
      world.clock.advance(10)
      const [quiet] = await ofKey(world, 'quiet', 3)
      const worker = await world.worker()
      const started: string[] = []
      while (started.length < 10) {
        const claims = await worker.claim(10)
        expect(claims).toHaveLength(2)
        started.push(...idsOf(claims))
        await worker.completeAll(claims)
      }
      expect(started.slice(0, 7)).toContain(quiet)
    },
  )

  specify('one claim of many shares them among the keys', async (world) => {
    await limitKeys(world, concurrency(100))
    const noisy = new Set(await ofKey(world, 'noisy', 50))
    await ofKey(world, 'b', 10)
    await ofKey(world, 'c', 1)
    const claims = await (await world.worker()).claim(12)
    expect(claims).toHaveLength(12)
    expect(claims.filter(({ id }) => noisy.has(id)).length).toBeLessThanOrEqual(7)
  })

  specify('within a key the order is that of the queue', async (world) => {
    await limitKeys(world, concurrency(1))
    const late = await world.enqueue({ limitKey: 'a', priority: 200 })
    const first = await world.enqueue({ limitKey: 'a', priority: 1 })
    const worker = await world.worker()
    const claim = await worker.claimOne()
    expect(claim.id).toBe(first)
    await worker.complete(claim)
    expect((await worker.claimOne()).id).toBe(late)
  })

  specify('what has a key and what has none go by their priority', async (world) => {
    await limitKeys(world, concurrency(1))
    const ids = [
      await world.enqueue({ priority: 3 }),
      await world.enqueue({ priority: 2, limitKey: 'a' }),
      await world.enqueue({ priority: 1 }),
    ]
    const worker = await world.worker()
    const order: string[] = []
    for (let turn = 0; turn < 3; turn++) order.push((await worker.claimOne()).id)
    expect(order).toEqual(ids.reverse())
  })

  specify(
    'a task with a key that is delayed, retried or given back waits for its key again',
    async (world) => {
      await limitKeys(world, concurrency(1))
      const delayed = await world.enqueue({ limitKey: 'a', runAfter: { ms: 1_000 } })
      const worker = await world.worker()
      expect(await worker.take(5)).toMatchObject({ claims: [], nextDueInMs: 1_000 })
      world.clock.advance(1_000)
      const claim = await worker.claimOne()
      expect(claim.id).toBe(delayed)
      await worker.fail(claim, 500)
      world.clock.advance(500)
      await worker.giveBack(await worker.claimOne())
      await worker.fail(await worker.claimOne())
      expect(await worker.claim(5)).toEqual([])
      expect(await world.store.tasks.retryTask(delayed)).toBe('retried')
      expect(idsOf(await worker.claim(5))).toEqual([delayed])
      await world.enqueue({ limitKey: 'a' })
      expect(await worker.claim(5)).toEqual([])
    },
  )

  specify('a task with a key that is cancelled or removed holds nothing', async (world) => {
    await limitKeys(world, concurrency(1))
    const [running, waiting, last] = await ofKey(world, 'a', 3)
    const worker = await world.worker()
    const claim = await worker.claimOne()
    expect(claim.id).toBe(running)
    expect(await world.store.tasks.cancelTask(waiting!)).toBe('cancelled')
    expect(await world.store.tasks.cancelTask(running!)).toBe('requested')
    await worker.settle(claim, { kind: 'cancelled' })
    expect(await world.store.tasks.removeTask(running!)).toBe('removed')
    expect(idsOf(await worker.claim(5))).toEqual([last])
  })

  specify('tasks with keys are counted and listed like all others', async (world) => {
    await limitKeys(world, concurrency(1))
    await ofKey(world, 'a', 2)
    await ofKey(world, 'b', 2)
    await world.enqueue({ limitKey: 'c', runAfter: { ms: 1_000 } })
    await world.enqueue()
    const worker = await world.worker()
    const [first] = await worker.claim(3)
    await worker.complete(first!)
    expect(await world.counts()).toEqual(counts({ queued: 2, running: 2, completed: 1, scheduled: 1 }))
    expect(await world.store.admin.listQueues()).toMatchObject([{ name: 'default', queued: 2, running: 2 }])
  })

  specify('a paused queue gives nothing of its keys; resumed, it does', async (world) => {
    await limitKeys(world, concurrency(1))
    await ofKey(world, 'a', 1)
    await world.store.admin.setPaused('default', true)
    const worker = await world.worker()
    expect(await worker.claim(5)).toEqual([])
    await world.store.admin.setPaused('default', false)
    expect(await worker.claim(5)).toHaveLength(1)
  })

  specify('a key can be enqueued inside a transaction of the user’s own', async (world) => {
    await limitKeys(world, concurrency(1))
    await world.database.transact(async (tx) => {
      await world.store.tasks.within(tx).enqueue([newTask({ limitKey: 'a' }), newTask({ limitKey: 'a' })])
    })
    const worker = await world.worker()
    expect(await worker.claim(5)).toHaveLength(1)
  })

  specify('keys that nothing refers to any more are forgotten, once their rate is over', async (world) => {
    await limitKeys(world, rate(2, 5_000))
    const [id] = await ofKey(world, 'a', 1)
    const worker = await world.worker()
    await worker.complete(await worker.claimOne())
    await world.store.tasks.removeTask(id!)
    expect(await worker.claim(5)).toEqual([])
    // Its rate is not forgotten with it.
    await ofKey(world, 'a', 3)
    expect(await worker.claim(5)).toHaveLength(1)
  })
}
