import type { WhenHeld } from '../../src/model/held-key.ts'
import { debounce, enqueueKeyed as enqueue, keyed, LOOK_MS, replace } from './keyed.ts'
import type { Theme } from './theme.ts'
import { counts, idsOf, newTask, type World } from './world.ts'

const throttle: WhenHeld = { kind: 'throttle', ms: 1_000 }

export const heldKeys: Theme = (specify, expect) => {
  /** What a worker finds now. */
  const inputs = async (world: World, count = 10): Promise<unknown[]> => {
    const worker = await world.worker()
    const claims = await worker.claim(count)
    await worker.completeAll(claims)
    return claims.map(({ input }) => JSON.parse(input!))
  }

  specify('a waiting task gets the new input, and keeps its time and its place', async (world) => {
    const first = await enqueue(world.store, replace, 1)
    await world.enqueue({ input: '"another"' })
    const before = await world.task(first.id)
    world.clock.advance(50)
    expect(await enqueue(world.store, replace, 2)).toEqual({ id: first.id, created: false })
    expect(await world.task(first.id)).toEqual({ ...before, input: 2 })
    expect(await inputs(world)).toEqual([2, 'another'])
  })

  specify('an input too large for the row is replaced as well, and replaces', async (world) => {
    const large = (letter: string) => JSON.stringify(letter.repeat(100_000))
    const { id } = await enqueue(world.store, replace, 1)
    for (const input of [large('a'), large('b'), '3', large('c')]) {
      await world.store.tasks.enqueue([keyed(replace, 0, { input })])
      expect((await world.task(id)).input).toBe(JSON.parse(input))
    }
    expect(((await inputs(world))[0] as string).slice(0, 3)).toBe('ccc')
  })

  specify(
    'a debounced task runs once, with the last input, when it has been quiet for long enough',
    async (world) => {
      const first = await enqueue(world.store, debounce, 1)
      expect(first.created).toBe(true)
      for (const input of [2, 3]) {
        world.clock.advance(60)
        expect(await enqueue(world.store, debounce, input)).toEqual({ id: first.id, created: false })
      }
      expect(await world.task(first.id)).toMatchObject({
        status: 'scheduled',
        runAfter: world.clock.now() + 100,
      })
      world.clock.advance(99)
      expect(await inputs(world)).toEqual([])
      world.clock.advance(1)
      expect(await inputs(world)).toEqual([3])
      expect(await world.counts()).toEqual(counts({ completed: 1 }))
      expect((await enqueue(world.store, debounce, 4)).created).toBe(true)
    },
  )

  specify('a debounced task that is due, and that nobody has taken, waits anew', async (world) => {
    await enqueue(world.store, debounce, 1)
    world.clock.advance(100)
    // Somebody who cannot run it moves what is due.
    await (await world.worker({ names: ['other'] })).claim()
    expect(await world.counts()).toEqual(counts({ queued: 1 }))
    expect((await enqueue(world.store, debounce, 2)).created).toBe(false)
    expect(await world.counts()).toEqual(counts({ scheduled: 1 }))
    world.clock.advance(100)
    expect(await inputs(world)).toEqual([2])
  })

  specify('nobody can put off a debounced task for longer than its longest wait', async (world) => {
    const wish: WhenHeld = { kind: 'debounce', ms: 100, maxWaitMs: 250 }
    const start = world.clock.now()
    const { id } = await enqueue(world.store, wish, 0)
    for (let input = 1; input <= 4; input++) {
      world.clock.advance(60)
      await enqueue(world.store, wish, input)
    }
    expect((await world.task(id)).runAfter).toBe(start + 250)
    world.clock.advance(10)
    await (await world.worker({ names: ['other'] })).claim()
    await enqueue(world.store, wish, 5)
    expect(await world.counts()).toEqual(counts({ queued: 1 }))
    expect(await inputs(world)).toEqual([5])
  })

  for (const wish of [replace, debounce]) {
    specify(`what comes while a task is in a worker's hands runs after it (${wish.kind})`, async (world) => {
      for (const [start, ahead] of [
        [1, 0],
        [0, 1],
      ] as const) {
        const first = await enqueue(world.store, replace, 1)
        const worker = await world.worker()
        const [claim] = await worker.claim(start, ahead)
        const second = await enqueue(world.store, wish, 2)
        expect(second.created).toBe(true)
        expect(second.id).not.toBe(first.id)
        // Whatever else comes goes to the one that waits.
        expect(await enqueue(world.store, wish, 3)).toEqual({ id: second.id, created: false })
        expect(await enqueue(world.store, null, 4)).toEqual({ id: first.id, created: false })
        world.clock.advance(LOOK_MS)
        expect(await inputs(world)).toEqual([])
        expect(await world.task(second.id)).toMatchObject({ input: 3, key: 'k' })
        expect(idsOf(await world.list({ key: 'k', name: 'job' }))).toContain(second.id)
        await worker.complete(claim!)
        expect(await enqueue(world.store, null, 5)).toEqual({ id: second.id, created: false })
        world.clock.advance(LOOK_MS)
        expect(await inputs(world)).toEqual([3])
        expect((await world.task(second.id)).key).toBe('k')
        await worker.end('stop')
      }
    })
  }

  specify('what follows a task runs after it, however that ends', async (world) => {
    for (const end of ['fail', 'crash', 'cancel'] as const) {
      const { id } = await enqueue(world.store, replace, 1)
      const worker = await world.worker({ worker: `worker:${end}` })
      const claim = await worker.claimOne()
      await enqueue(world.store, replace, 2)
      if (end === 'fail') {
        await worker.fail(claim, 5_000)
        // It is tried again, and then it is its turn.
        world.clock.advance(LOOK_MS)
        expect(await inputs(world)).toEqual([])
        world.clock.advance(5_000)
        expect(await inputs(world)).toEqual([1])
      } else if (end === 'cancel') {
        await world.store.tasks.cancelTask(id)
        await worker.settle(claim, { kind: 'cancelled' })
      } else {
        await worker.end('crash')
        expect(await inputs(world)).toEqual([1])
      }
      world.clock.advance(LOOK_MS)
      expect(await inputs(world)).toEqual([2])
    }
  })

  specify('while a task backs off, what comes replaces its input and it starts anew', async (world) => {
    const { id } = await enqueue(world.store, debounce, 1)
    world.clock.advance(100)
    const worker = await world.worker()
    await worker.fail(await worker.claimOne(), 60_000)
    expect(await enqueue(world.store, debounce, 2)).toEqual({ id, created: false })
    expect(await world.task(id)).toMatchObject({
      attempts: 0,
      error: null,
      runAfter: world.clock.now() + 100,
    })
    world.clock.advance(100)
    expect(await inputs(world)).toEqual([2])
  })

  specify('of a throttled key there is one task in its time, whatever becomes of it', async (world) => {
    const first = await enqueue(world.store, throttle, 1)
    expect(first.created).toBe(true)
    expect(await enqueue(world.store, throttle, 2)).toEqual({ id: first.id, created: false })
    expect(await inputs(world)).toEqual([1])
    world.clock.advance(999)
    expect(await enqueue(world.store, throttle, 3)).toEqual({ id: first.id, created: false })
    world.clock.advance(1)
    const second = await enqueue(world.store, throttle, 4)
    expect(second.created).toBe(true)
    // Longer than its time: the task itself holds the key.
    world.clock.advance(1_000)
    expect(await enqueue(world.store, throttle, 5)).toEqual({ id: second.id, created: false })
    expect(await inputs(world)).toEqual([4])
    expect((await enqueue(world.store, throttle, 6)).created).toBe(true)
  })

  specify(
    'the same key several times in one call: the last input, or of a throttled key the first',
    async (world) => {
      for (const [wish, expected] of [
        [replace, 3],
        [debounce, 3],
        [throttle, 1],
      ] as const) {
        const key = wish.kind
        const answers = await world.store.tasks.enqueue([1, 2, 3].map((input) => keyed(wish, input, { key })))
        expect(answers.map(({ created }) => created)).toEqual([true, false, false])
        expect(new Set(idsOf(answers)).size).toBe(1)
        expect((await world.task(answers[0]!.id)).input).toBe(expected)
      }
    },
  )

  specify('in one call, different wishes for one key are done one after the other', async (world) => {
    const answers = await world.store.tasks.enqueue([
      keyed(null, 1),
      keyed(replace, 2),
      keyed(throttle, 3),
      keyed(replace, 4),
      newTask({ input: '"plain"' }),
    ])
    expect(answers.map(({ created }) => created)).toEqual([true, false, false, false, true])
    expect((await inputs(world)).sort()).toEqual([4, 'plain'])
  })

  specify('a key for ever is kept, whatever is wished', async (world) => {
    const id = await world.enqueue({ key: 'k', keyScope: 'forever', input: '1' })
    expect(await enqueue(world.store, replace, 2)).toEqual({ id, created: false })
    expect(await inputs(world)).toEqual([2])
    for (const wish of [replace, debounce, throttle]) {
      expect(await enqueue(world.store, wish, 3)).toEqual({ id, created: false })
    }
    expect(await world.counts()).toEqual(counts({ completed: 1 }))
  })

  specify('while a task waits for the key to be free, nobody else gets it', async (world) => {
    const [old] = await world.enqueueMany(1, { key: 'k' })
    const worker = await world.worker()
    await worker.fail(await worker.claimOne())
    await enqueue(world.store, replace, 1)
    const running = await worker.claimOne()
    const { id: follower } = await enqueue(world.store, replace, 2)
    await worker.complete(running)
    expect(await world.store.tasks.retryTask(old!)).toEqual({ keyHeldBy: follower })
    // Cancelled, it waits for nobody, and can be retried like any other.
    expect(await world.store.tasks.cancelTask(follower)).toBe('cancelled')
    expect(await world.task(follower)).toMatchObject({ key: 'k' })
    expect(await world.store.tasks.retryTask(follower)).toBe('retried')
    expect(await world.store.tasks.retryTask(old!)).toEqual({ keyHeldBy: follower })
    expect(await inputs(world)).toEqual([2])
    expect(await world.store.tasks.retryTask(old!)).toBe('retried')
  })

  specify('a transaction that is rolled back replaces nothing, and one that commits does', async (world) => {
    const { id } = await enqueue(world.store, debounce, 1)
    const inside = (input: number, fails: boolean) =>
      world.database.transact(async (tx) => {
        await world.store.tasks.within(tx).enqueue([keyed(debounce, input)])
        if (fails) throw new Error('no')
      })
    await expect(inside(2, true)).rejects.toMatchObject({ message: 'no' })
    expect((await world.task(id)).input).toBe(1)
    await inside(3, false)
    expect((await world.task(id)).input).toBe(3)
  })
}
