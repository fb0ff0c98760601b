import type { Theme } from './theme.ts'
import { counts, idsOf } from './world.ts'

export const delays: Theme = (specify, expect) => {
  specify('a task that is to run later is scheduled, and nobody gets it before', async (world) => {
    const id = await world.enqueue({ runAfter: { ms: 1_000 } })
    const runAfter = world.clock.now() + 1_000
    expect(await world.task(id)).toMatchObject({ status: 'scheduled', runAfter })
    world.clock.advance(999)
    const worker = await world.worker()
    expect(await worker.claim()).toEqual([])
    world.clock.advance(1)
    expect(idsOf(await worker.claim())).toEqual([id])
  })

  specify('a task can be given a date', async (world) => {
    const at = world.clock.now() + 5_000
    const id = await world.enqueue({ runAfter: { at } })
    expect(await world.task(id)).toMatchObject({ status: 'scheduled', runAfter: at })
    world.clock.advance(5_000)
    expect(idsOf(await (await world.worker()).claim())).toEqual([id])
  })

  specify('a date in the past, or no delay at all, is now', async (world) => {
    const past = await world.enqueue({ runAfter: { at: world.clock.now() - 5_000 } })
    const now = await world.enqueue({ runAfter: { ms: 0 } })
    expect(await world.counts()).toEqual(counts({ queued: 2 }))
    expect(idsOf(await (await world.worker()).claim(2)).sort()).toEqual([past, now].sort())
  })

  specify('a due task counts as queued before anything has moved it', async (world) => {
    const [first, second] = await world.enqueueMany(2, { runAfter: { ms: 100 } })
    expect(await world.counts()).toEqual(counts({ scheduled: 2 }))
    world.clock.advance(100)
    expect(await world.counts()).toEqual(counts({ queued: 2 }))
    expect(await world.task(first!)).toMatchObject({ status: 'queued' })
    expect(idsOf(await world.list({ status: 'queued' })).sort()).toEqual([first, second].sort())
    expect(await world.list({ status: 'scheduled' })).toEqual([])
    expect(await world.store.admin.listQueues()).toMatchObject([{ name: 'default', queued: 2, scheduled: 0 }])
  })

  specify(
    'due tasks are listed page by page, each once, also when a worker moves them meanwhile',
    async (world) => {
      const delayed: string[] = []
      for (let i = 20; i > 0; i--)
        delayed.push(await world.enqueue({ runAfter: { ms: i }, priority: 90 + (i % 5) }))
      const waiting = await world.enqueueMany(5)
      world.clock.advance(100)
      const expected = [...delayed, ...waiting].map(Number).sort((a, b) => a - b)
      const listed = await world.list({ status: 'queued' }, 3)
      expect(listed.map(({ id }) => Number(id)).sort((a, b) => a - b)).toEqual(expected)

      const first = await world.store.tasks.listTasks({ status: 'queued' }, { limit: 4, cursor: null })
      // Moves all that are due, and takes none of them.
      await (await world.worker({ names: ['other'] })).claim(1)
      const rest = await world.store.tasks.listTasks({ status: 'queued' }, { limit: 100, cursor: first.next })
      const ids = idsOf([...first.items, ...rest.items])
      expect(ids.map(Number).sort((a, b) => a - b)).toEqual(expected)
    },
  )

  specify(
    'queued tasks, due ones among them, are listed in the order in which they will run',
    async (world) => {
      await world.enqueue({ runAfter: { ms: 50 }, priority: 200 })
      await world.enqueue({ runAfter: { ms: 20 } })
      await world.enqueue({ runAfter: { ms: 10 } })
      await world.enqueue({ priority: 150 })
      await world.enqueue()
      world.clock.advance(100)
      await world.enqueue()
      const listed = idsOf(await world.list({ status: 'queued' }, 2))
      expect(idsOf(await (await world.worker()).claim(10))).toEqual(listed)
    },
  )

  specify('more tasks than one claim moves can become due at once, and none is forgotten', async (world) => {
    await world.enqueueMany(2_500, { runAfter: { ms: 100 } })
    world.clock.advance(100)
    expect(await world.store.tasks.countTasks({})).toEqual(counts({ queued: 2_500 }))
    const worker = await world.worker()
    const claimed = new Set<string>()
    for (let claims = await worker.claim(500); claims.length > 0; claims = await worker.claim(500)) {
      for (const { id } of claims) claimed.add(id)
    }
    expect(claimed.size).toBe(2_500)
    expect(await world.store.tasks.countTasks({})).toEqual(counts({ running: 2_500 }))
  })

  specify('a worker that finds nothing is told when the next delayed task becomes due', async (world) => {
    const worker = await world.worker()
    await world.enqueue({ runAfter: { ms: 700 } })
    await world.enqueue({ runAfter: { ms: 300 } })
    expect(await worker.take(1)).toMatchObject({ claims: [], nextDueInMs: 300 })
    world.clock.advance(250)
    expect(await worker.take(1)).toMatchObject({ claims: [], nextDueInMs: 50 })
    world.clock.advance(50)
    expect((await worker.take(1)).claims).toHaveLength(1)
    expect(await worker.take(1)).toMatchObject({ claims: [], nextDueInMs: 400 })
  })

  specify('a worker is never told a later time than that of a delayed task of its own', async (world) => {
    const worker = await world.worker()
    await world.enqueue({ queue: 'other', runAfter: { ms: 100 } })
    await world.enqueue({ runAfter: { ms: 300 } })
    const { nextDueInMs } = await worker.take(1)
    expect(nextDueInMs).not.toBe(null)
    expect(nextDueInMs).toBeLessThanOrEqual(300)
  })
}
