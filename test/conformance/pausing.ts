import type { Theme } from './theme.ts'
import { counts, idsOf } from './world.ts'

export const pausing: Theme = (specify, expect) => {
  specify('a paused queue gives nothing, to no store, until it is resumed; others go on', async (world) => {
    const other = await world.database.open()
    const paused = await world.enqueue({ queue: 'mail', priority: 1 })
    const free = await world.enqueue({ queue: 'ml' })
    await world.store.admin.setPaused('mail', true)
    const worker = await world.worker({ queues: ['mail', 'ml'] }, other)
    expect(idsOf(await worker.claim(5))).toEqual([free])
    expect(await worker.claim(5)).toEqual([])
    expect(await world.task(paused)).toMatchObject({ status: 'queued', attempts: 0 })
    await world.store.admin.setPaused('mail', false)
    expect(idsOf(await worker.claim(5))).toEqual([paused])
  })

  specify('a paused queue takes new tasks, and settles what is in hand', async (world) => {
    await world.enqueueMany(3)
    const worker = await world.worker()
    const [first, second, third] = await worker.claim(2, 1)
    await world.store.admin.setPaused('default', true)
    await world.enqueue()
    expect((await worker.complete(first!)).refused).toEqual([])
    expect((await worker.fail(second!, 0)).refused).toEqual([])
    expect((await worker.giveBack(third!)).refused).toEqual([])
    expect(await world.counts()).toEqual(counts({ completed: 1, queued: 3 }))
    expect(await worker.claim(5)).toEqual([])
  })

  specify('what is held ahead is told of, until it has begun or gone back', async (world) => {
    await world.enqueueMany(3)
    const worker = await world.worker()
    const { store } = world
    expect(await store.admin.holdsAhead(null)).toBe(false)
    const [, ahead] = await worker.claim(1, 1)
    for (const source of [null, { queue: 'default' }]) expect(await store.admin.holdsAhead(source)).toBe(true)
    for (const source of [{ queue: 'other' }, { discovery: 'default' }])
      expect(await store.admin.holdsAhead(source)).toBe(false)
    await worker.giveBack(ahead!)
    expect(await store.admin.holdsAhead(null)).toBe(false)
  })

  specify('the pause of everything holds for all queues, also for those that come later', async (world) => {
    await world.enqueue()
    await world.store.admin.setPaused(null, true)
    await world.enqueue({ queue: 'late' })
    const other = await world.database.open()
    const worker = await world.worker({ queues: ['default', 'late'] }, other)
    expect(await worker.claim(5)).toEqual([])
    expect(await other.admin.everythingIsPaused()).toBe(true)
    await world.store.admin.setPaused(null, false)
    expect(await other.admin.everythingIsPaused()).toBe(false)
    expect(await worker.claim(5)).toHaveLength(2)
  })

  specify('resuming everything leaves a queue paused that was paused by itself', async (world) => {
    await world.enqueue()
    await world.store.admin.setPaused('default', true)
    await world.store.admin.setPaused(null, true)
    await world.store.admin.setPaused(null, false)
    const worker = await world.worker()
    expect(await worker.claim(5)).toEqual([])
    await world.store.admin.setPaused('default', false)
    expect(await worker.claim(5)).toHaveLength(1)
  })

  specify('a pause outlives the store that asked for it', async (world) => {
    await world.enqueue()
    await world.store.admin.setPaused('default', true)
    await world.store.close()
    const worker = await world.worker({}, await world.database.open())
    expect(await worker.claim(5)).toEqual([])
  })

  specify(
    'a paused queue has no delayed tasks and no suspects to wait for that it would give',
    async (world) => {
      await world.enqueue({ runAfter: { ms: 10 } })
      await world.store.admin.setPaused('default', true)
      world.clock.advance(10)
      const worker = await world.worker()
      expect(await worker.take(5)).toMatchObject({ claims: [], suspectsWaiting: false })
      expect(await world.counts()).toEqual(counts({ queued: 1 }))
    },
  )

  specify('queues are listed with their counts and whether they are paused', async (world) => {
    await world.enqueueMany(2, { queue: 'b' })
    await world.enqueue({ queue: 'a', runAfter: { ms: 50 } })
    await world.store.admin.setPaused('c', true)
    const worker = await world.worker({ queues: ['b'] })
    await worker.claimOne()
    const ordering = { strategy: 'priority', ageingMs: null, chosen: [] }
    expect(await world.store.admin.listQueues()).toEqual([
      { name: 'a', paused: false, ...ordering, ...counts({ scheduled: 1 }) },
      { name: 'b', paused: false, ...ordering, ...counts({ queued: 1, running: 1 }) },
      { name: 'c', paused: true, ...ordering, ...counts({}) },
    ])
    await world.store.admin.setPaused('c', false)
    await world.store.admin.setPaused(null, true)
    expect((await world.store.admin.listQueues()).map(({ paused }) => paused)).toEqual([true, true, true])
  })
}
