import type { Theme } from './theme.ts'
import { counts, newTask } from './world.ts'

export const counting: Theme = (specify, expect) => {
  specify('the counts are exact after every step of a life, and agree with the listings', async (world) => {
    const { store } = world
    const says = async (some: Parameters<typeof counts>[0]) =>
      expect(await world.counts()).toEqual(counts(some))
    await says({})
    const [a, b, c] = await world.enqueueMany(3)
    const d = await world.enqueue({ runAfter: { ms: 100 } })
    await says({ queued: 3, scheduled: 1 })
    const worker = await world.worker()
    const [running, ahead] = await worker.claim(1, 1)
    await says({ running: 1, queued: 2, scheduled: 1 })
    await worker.start(ahead!)
    await says({ running: 2, queued: 1, scheduled: 1 })
    await worker.complete(running!)
    await says({ completed: 1, running: 1, queued: 1, scheduled: 1 })
    await worker.fail(ahead!, 500)
    await says({ completed: 1, queued: 1, scheduled: 2 })
    world.clock.advance(100)
    await says({ completed: 1, queued: 2, scheduled: 1 })
    await worker.claim(2)
    await says({ completed: 1, running: 2, scheduled: 1 })
    await worker.end('crash')
    await says({ completed: 1, queued: 2, scheduled: 1 })
    await store.tasks.cancelTask(b!)
    await says({ completed: 1, queued: 2, cancelled: 1 })
    await store.tasks.cancelTask(c!)
    await says({ completed: 1, queued: 1, cancelled: 2 })
    await worker.begin()
    await worker.fail(await worker.claimOne())
    await says({ completed: 1, failed: 1, cancelled: 2 })
    await store.tasks.retryTask(d)
    await store.tasks.retryTask(a!)
    await store.tasks.retryTask(b!)
    await says({ queued: 3, cancelled: 1 })
    await store.tasks.removeTask(c!)
    await says({ queued: 3 })
    await store.tasks.removeTask(a!)
    await says({ queued: 2 })
  })

  specify('counts can be asked for one queue, one task name, or both', async (world) => {
    await world.enqueueMany(1, { queue: 'x', name: 'a' })
    await world.enqueueMany(2, { queue: 'x', name: 'b' })
    await world.enqueueMany(4, { queue: 'y', name: 'a', requires: { gpu: true } })
    await world.enqueueMany(8, { queue: 'y', name: 'a' })
    expect(await world.counts()).toEqual(counts({ queued: 15 }))
    expect(await world.counts({ queue: 'y' })).toEqual(counts({ queued: 12 }))
    expect(await world.counts({ name: 'a' })).toEqual(counts({ queued: 13 }))
    expect(await world.counts({ queue: 'x', name: 'b' })).toEqual(counts({ queued: 2 }))
    expect(await world.counts({ queue: 'nobody' })).toEqual(counts({}))
  })

  specify(
    'counts are exact for thousands that come one by one, in batches and from two stores',
    async (world) => {
      const other = await world.database.open()
      await world.enqueueMany(1_500)
      await Promise.all(
        Array.from({ length: 700 }, (_, i) =>
          (i % 2 ? world.store : other).tasks.enqueue([newTask({ runAfter: i < 350 ? null : { ms: 10 } })]),
        ),
      )
      const expected = counts({ queued: 1_500 + 350, scheduled: 350 })
      expect(await world.store.tasks.countTasks({})).toEqual(expected)
      expect(await other.tasks.countTasks({})).toEqual(expected)
      expect(await world.list({}, 500)).toHaveLength(2_200)
    },
  )
}
