import type { Claimant } from './claimant.ts'
import type { Theme } from './theme.ts'
import { counts, newTask, type World } from './world.ts'

const keyed = newTask({ key: 'k' })

export const keys: Theme = (specify, expect) => {
  const holding: Record<string, (world: World, worker: Claimant) => Promise<string>> = {
    queued: (world) => world.enqueue({ key: 'k' }),
    scheduled: (world) => world.enqueue({ key: 'k', runAfter: { ms: 1_000 } }),
    async running(world, worker) {
      const id = await world.enqueue({ key: 'k' })
      await worker.claimOne()
      return id
    },
    async 'held ahead'(world, worker) {
      const id = await world.enqueue({ key: 'k' })
      await worker.claim(0, 1)
      return id
    },
    async 'waiting to be tried again'(world, worker) {
      const id = await world.enqueue({ key: 'k' })
      await worker.fail(await worker.claimOne(), 1_000)
      return id
    },
  }
  for (const [state, hold] of Object.entries(holding)) {
    specify(`a key is held while its task is ${state}: a second one is not created`, async (world) => {
      const id = await hold(world, await world.worker())
      const before = await world.counts()
      expect(await world.store.tasks.enqueue([keyed])).toEqual([{ id, created: false }])
      expect(await world.counts()).toEqual(before)
    })
  }

  const freeing: Record<string, (world: World, worker: Claimant, id: string) => Promise<unknown>> = {
    completed: async (_, worker) => worker.complete(await worker.claimOne()),
    failed: async (_, worker) => worker.fail(await worker.claimOne()),
    cancelled: ({ store }, _, id) => store.tasks.cancelTask(id),
    removed: ({ store }, _, id) => store.tasks.removeTask(id),
  }
  for (const [end, free] of Object.entries(freeing)) {
    specify(`a key is free again when its task is ${end}`, async (world) => {
      const id = await world.enqueue({ key: 'k' })
      await free(world, await world.worker(), id)
      const [second] = await world.store.tasks.enqueue([keyed])
      expect(second).toMatchObject({ created: true })
      expect(second?.id).not.toBe(id)
    })
  }

  specify('the same key twice in one call makes one task, and both answers name it', async ({ store }) => {
    const [first, second] = await store.tasks.enqueue([keyed, keyed])
    expect(first?.created).toBe(true)
    expect(second).toEqual({ id: first?.id, created: false })
  })

  specify('what shares a call with a held key is enqueued all the same', async (world) => {
    await world.enqueue({ key: 'k' })
    const answers = await world.store.tasks.enqueue([newTask(), keyed, newTask({ key: 'other' })])
    expect(answers.map(({ created }) => created)).toEqual([true, false, true])
    expect(await world.counts()).toEqual(counts({ queued: 3 }))
  })

  specify('a key belongs to a task name: another name may use the same', async ({ store }) => {
    const answers = await store.tasks.enqueue([keyed, newTask({ name: 'other', key: 'k' })])
    expect(answers.map(({ created }) => created)).toEqual([true, true])
  })

  specify('a key is held across queues', async ({ store }) => {
    const answers = await store.tasks.enqueue([keyed, newTask({ queue: 'elsewhere', key: 'k' })])
    expect(answers.map(({ created }) => created)).toEqual([true, false])
  })

  specify('keys are compared as they are written, and come back so', async (world) => {
    const names = ['a', 'A', 'a/b', 'a%', 'ä', "it's", ' a']
    const ids = await Promise.all(names.map((key) => world.enqueue({ key })))
    expect(await Promise.all(ids.map(async (id) => (await world.task(id)).key))).toEqual(names)
  })

  specify('stores that enqueue the same keys at the same time make one task of each', async (world) => {
    const other = await world.database.open()
    const keys = Array.from({ length: 40 }, (_, i) => newTask({ key: `k${i % 20}` }))
    const answers = await Promise.all(
      keys.flatMap((task) => [world.store.tasks.enqueue([task]), other.tasks.enqueue([task])]),
    )
    expect(answers.flat().filter(({ created }) => created)).toHaveLength(20)
    expect(await world.counts()).toEqual(counts({ queued: 20 }))
  })

  specify('a key for ever outlives its task, and ends when the task is removed', async (world) => {
    const forever = newTask({ key: 'k', keyScope: 'forever' })
    const [first] = await world.store.tasks.enqueue([forever])
    const worker = await world.worker()
    await worker.complete(await worker.claimOne())
    expect(await world.store.tasks.enqueue([forever])).toEqual([{ id: first?.id, created: false }])
    expect(await world.store.tasks.enqueue([keyed])).toEqual([{ id: first?.id, created: false }])
    await world.store.tasks.removeTask(first!.id)
    expect(await world.store.tasks.enqueue([keyed])).toMatchObject([{ created: true }])
  })

  specify('retrying by hand while another task holds the key is refused and names it', async (world) => {
    const id = await world.enqueue({ key: 'k' })
    const worker = await world.worker()
    await worker.fail(await worker.claimOne())
    const before = await world.task(id)
    const holder = await world.enqueue({ key: 'k' })
    expect(await world.store.tasks.retryTask(id)).toEqual({ keyHeldBy: holder })
    expect(await world.task(id)).toEqual(before)
    expect(await world.counts()).toEqual(counts({ failed: 1, queued: 1 }))
    await world.store.tasks.cancelTask(holder)
    expect(await world.store.tasks.retryTask(id)).toBe('retried')
  })

  specify('retrying by hand is refused while the key belongs to another for ever', async (world) => {
    const id = await world.enqueue({ key: 'k' })
    const worker = await world.worker()
    await worker.fail(await worker.claimOne())
    const holder = await world.enqueue({ key: 'k', keyScope: 'forever' })
    await worker.complete(await worker.claimOne())
    expect(await world.store.tasks.retryTask(id)).toEqual({ keyHeldBy: holder })
  })

  specify('a key that was taken for ever is free when its task is removed, and not before', async (world) => {
    const id = await world.enqueue({ key: 'k', keyScope: 'forever' })
    const worker = await world.worker()
    await worker.complete(await worker.claimOne())
    expect(await world.store.tasks.enqueue([keyed])).toEqual([{ id, created: false }])
    await world.store.tasks.removeTask(id)
    expect((await world.store.tasks.enqueue([keyed]))[0]).toMatchObject({ created: true })
  })

  specify('a task whose key is held by itself, for ever, can be retried', async (world) => {
    const id = await world.enqueue({ key: 'k', keyScope: 'forever' })
    const worker = await world.worker()
    await worker.fail(await worker.claimOne())
    expect(await world.store.tasks.retryTask(id)).toBe('retried')
    expect(await world.store.tasks.enqueue([keyed])).toEqual([{ id, created: false }])
  })
}
