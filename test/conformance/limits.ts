import { concurrency, limitKeys, limitQueue, ofKey } from './limiting.ts'
import type { Theme } from './theme.ts'
import { counts, newTask } from './world.ts'

export const limits: Theme = (specify, expect) => {
  specify('no more of a queue are held than its limit says, by all stores together', async (world) => {
    await limitQueue(world, concurrency(3))
    await world.enqueueMany(6)
    const one = await world.worker()
    const other = await world.worker({}, await world.database.open())
    const first = await one.claim(2)
    expect(first).toHaveLength(2)
    expect(await other.claim(5)).toHaveLength(1)
    expect(await one.claim(5)).toEqual([])
    await one.complete(first[0]!)
    expect(await other.claim(5)).toHaveLength(1)
    expect(await other.claim(5)).toEqual([])
  })

  specify('other queues go on while one is at its limit, and it costs them nothing', async (world) => {
    await limitQueue(world, concurrency(1), 'narrow')
    await world.enqueueMany(3, { queue: 'narrow', priority: 1 })
    await world.enqueueMany(3, { queue: 'wide' })
    const worker = await world.worker({ queues: ['narrow', 'wide'] })
    const claims = await worker.claim(10)
    expect(claims.map(({ queue }) => queue)).toEqual(['narrow', 'wide', 'wide', 'wide'])
  })

  specify('a slot is free again however its item ended, and in the same exchange', async (world) => {
    await limitQueue(world, concurrency(1))
    const ids = await world.enqueueMany(6)
    const worker = await world.worker()
    const next = async (outcome: Parameters<typeof worker.settle>[1], id: string, fence: number) => {
      const startedAt = world.clock.now()
      const want = { able: worker.able, start: 5, ahead: 5, empty: false }
      return (await worker.exchange({ outcomes: [{ id, fence, startedAt, outcome }], want })).claims
    }
    const failure = { kind: 'error', message: 'no', stack: null } as const
    let [held] = await worker.claim(5, 5)
    for (const outcome of [
      { kind: 'completed', result: null },
      { kind: 'failed', failure, retryAfterMs: null },
      { kind: 'failed', failure, retryAfterMs: 1_000 },
      { kind: 'later', afterMs: 1_000 },
      { kind: 'cancelled' },
    ] as const) {
      const claims = await next(outcome, held!.id, held!.fence)
      expect(claims).toHaveLength(1)
      held = claims[0]
    }
    expect(held!.id).toBe(ids[5])
    const [again] = await next({ kind: 'returned' }, held!.id, held!.fence)
    expect(again!.id).toBe(ids[5])
  })

  specify('an item that completes with effects of its own frees its slot', async (world) => {
    await limitQueue(world, concurrency(1))
    await limitKeys(world, concurrency(1))
    await ofKey(world, 'a', 2)
    const worker = await world.worker()
    const claim = await worker.claimOne()
    expect(await worker.completeWith(claim, (tx) => world.database.notes.write(tx, 'done'))).toBe(true)
    expect(await worker.claim(5)).toHaveLength(1)
  })

  for (const cause of ['crash', 'stop', 'lease'] as const) {
    specify(
      `what a session held is free when it ends (${cause}), for its queue and its key`,
      async (world) => {
        await limitQueue(world, concurrency(2))
        await limitKeys(world, concurrency(2))
        await ofKey(world, 'a', 4)
        const gone = await world.worker()
        expect(await gone.claim(5)).toHaveLength(2)
        const worker = await world.worker({ worker: 'worker:test:1' })
        expect(await worker.claim(5)).toEqual([])
        await gone.end(cause)
        const first = await worker.claim(5)
        // Suspects are run one by one.
        expect(first).toHaveLength(cause === 'crash' ? 1 : 2)
        expect(await world.counts()).toEqual(counts({ queued: 4 - first.length, running: first.length }))
      },
    )
  }

  specify('half of the room that a limit leaves is prefetched, and counts', async (world) => {
    await limitQueue(world, concurrency(10), 'limited')
    await limitKeys(world, concurrency(10))
    for (const where of [{ queue: 'limited' }, { limitKey: 'a' }]) {
      await world.enqueueMany(20, where)
      const worker = await world.worker({ queues: [where.queue ?? 'default'] })
      const claims = await worker.claim(4, 20)
      expect(claims.map(({ started }) => started)).toEqual([...Array(4).fill(true), ...Array(3).fill(false)])
      const other = await world.worker({ worker: 'worker:test:1', queues: [where.queue ?? 'default'] })
      expect(await other.claim(20)).toHaveLength(3)
      for (const claim of claims) await worker.complete(claim)
      expect(await other.claim(20)).toHaveLength(7)
    }
  })

  specify(
    'under a rate as little is prefetched as never matters, and counts until it may have started',
    async (world) => {
      await limitQueue(world, { concurrency: null, rate: { count: 100, perMs: 1_000 } })
      await world.enqueueMany(300)
      const worker = await world.worker()
      const first = await worker.claim(4, 20)
      const [now, later] = [first.slice(0, 4), first.slice(4)]
      expect(now.map(({ started, startWithinMs }) => [started, startWithinMs])).toEqual(
        Array(4).fill([true, undefined]),
      )
      expect(later.map(({ started, startWithinMs }) => [started, startWithinMs])).toEqual(
        Array(3).fill([false, 100]),
      )
      // More than a tenth of the rate is used: all that follows starts at once.
      expect(await worker.claim(6, 20)).toHaveLength(6)
      expect((await worker.claim(200)).length).toBe(87)
      world.clock.advance(1_000)
      expect((await worker.claim(200)).length).toBe(97)
      world.clock.advance(99)
      expect(await worker.claim(200)).toEqual([])
      world.clock.advance(1)
      expect((await worker.claim(200)).length).toBe(3)
    },
  )

  specify('under a rate of less than a second nothing is prefetched', async (world) => {
    await limitQueue(world, { concurrency: null, rate: { count: 100, perMs: 999 } })
    await world.enqueueMany(20)
    const claims = await (await world.worker()).claim(4, 20)
    expect(claims.map(({ started }) => started)).toEqual(Array(4).fill(true))
  })

  specify('a suspect counts for its limits, and holds nobody back who cannot have it', async (world) => {
    await limitKeys(world, concurrency(1))
    const [suspect] = await ofKey(world, 'a', 1)
    const gone = await world.worker({ worker: 'worker:test:9' })
    await gone.claimOne()
    await gone.end('crash')
    await ofKey(world, 'a', 1)
    const one = await world.worker()
    const other = await world.worker({ worker: 'worker:test:1' })
    const [claim] = await one.claim(5)
    expect(claim).toMatchObject({ id: suspect, suspect: true })
    expect(await other.take(5)).toMatchObject({ claims: [], suspectsWaiting: false })
    await one.complete(claim!)
    expect(await other.claim(5)).toHaveLength(1)
  })

  specify(
    'a suspect whose limit is reached waits for it, and nobody waits for the suspect',
    async (world) => {
      await limitQueue(world, concurrency(1))
      const [first] = await world.enqueueMany(2)
      const gone = await world.worker({ worker: 'worker:test:9' })
      expect((await gone.claimOne()).id).toBe(first)
      await gone.end('crash')
      const free = await world.enqueue({ queue: 'other' })
      const busy = await world.worker({ queues: ['default', 'other'] })
      const [suspect] = await busy.claim(1)
      expect(suspect).toMatchObject({ id: first, suspect: true })
      const other = await world.worker({ worker: 'worker:test:2', queues: ['default', 'other'] })
      expect(await other.take(5)).toMatchObject({ claims: [{ id: free }], suspectsWaiting: false })
    },
  )

  specify('a suspect that its key holds back is not run before its time', async (world) => {
    await limitKeys(world, { concurrency: null, rate: { count: 1, perMs: 1_000 } })
    const [suspect] = await ofKey(world, 'a', 1)
    const gone = await world.worker({ worker: 'worker:test:9' })
    await gone.claimOne()
    await gone.end('crash')
    const worker = await world.worker()
    expect(await worker.take(5)).toMatchObject({ claims: [], nextDueInMs: 1_000 })
    world.clock.advance(1_000)
    expect(await worker.claim(5)).toMatchObject([{ id: suspect, suspect: true }])
  })

  specify('changed numbers hold from the next claim on, in every store', async (world) => {
    await limitQueue(world, concurrency(1))
    await limitKeys(world, concurrency(1))
    await ofKey(world, 'a', 10)
    const worker = await world.worker({}, await world.database.open())
    expect(await worker.claim(5)).toHaveLength(1)
    await limitQueue(world, concurrency(3))
    expect(await worker.claim(5)).toEqual([])
    await limitKeys(world, concurrency(2))
    expect(await worker.claim(5)).toHaveLength(1)
    await limitKeys(world, null)
    expect(await worker.claim(5)).toHaveLength(1)
    await limitQueue(world, null)
    expect(await worker.claim(5)).toHaveLength(5)
  })

  specify('a limit counts what was held before it came, and lets it end', async (world) => {
    await world.enqueueMany(4)
    const worker = await world.worker()
    const before = await worker.claim(2)
    await limitQueue(world, concurrency(2))
    expect(await worker.claim(5)).toEqual([])
    await worker.completeAll(before)
    expect(await worker.claim(5)).toHaveLength(2)
    expect(await worker.claim(5)).toEqual([])
  })

  specify('a limit outlives the store that planned it', async (world) => {
    await limitQueue(world, concurrency(1))
    await world.store.close()
    const store = await world.database.open()
    await store.tasks.enqueue([newTask(), newTask()])
    const worker = await world.worker({}, store)
    expect(await worker.claim(5)).toHaveLength(1)
  })

  specify('a freed slot is told, so that whoever waits for it looks again', async (world) => {
    await limitKeys(world, concurrency(1))
    await ofKey(world, 'a', 2)
    const worker = await world.worker()
    const claim = await worker.claimOne()
    const kinds: string[] = []
    world.store.onChange((change) => kinds.push(change.kind))
    await worker.complete(claim)
    expect(kinds).toContain('work')
  })

  specify('what a task is held back by is told: the limit, and who holds it', async (world) => {
    await limitQueue(world, { concurrency: 5, rate: { count: 1, perMs: 1_000 } })
    await limitKeys(world, concurrency(1))
    const [first, second] = await ofKey(world, 'a', 2)
    const worker = await world.worker()
    await worker.claimOne()
    world.clock.advance(400)
    expect(await world.store.tasks.limitsOn(second!)).toEqual([
      {
        scope: { queue: 'default' },
        key: null,
        limit: { concurrency: 5, rate: { count: 1, perMs: 1_000 } },
        held: 1,
        room: 0,
        opensInMs: 600,
        holders: [first],
      },
      {
        scope: { task: 'job' },
        key: 'a',
        limit: { concurrency: 1, rate: null },
        held: 1,
        room: 0,
        opensInMs: null,
        holders: [first],
      },
    ])
    expect(await world.store.tasks.limitsOn('0')).toEqual([])
  })
}
