import type { Claimant } from './claimant.ts'
import type { Theme } from './theme.ts'
import { counts, type World } from './world.ts'

const ends: Record<string, (world: World, worker: Claimant, id: string) => Promise<unknown>> = {
  failed: async (_, worker) => worker.fail(await worker.claimOne()),
  completed: async (_, worker) => worker.complete(await worker.claimOne(), '1'),
  cancelled: ({ store }, _, id) => store.tasks.cancelTask(id),
}

export const retrying: Theme = (specify, expect) => {
  for (const [end, bring] of Object.entries(ends)) {
    specify(`a ${end} task that is retried by hand starts anew, with all its attempts`, async (world) => {
      const id = await world.enqueue({ maxAttempts: 2, runAfter: { ms: 5 }, input: '[1]' })
      world.clock.advance(5)
      const worker = await world.worker()
      await bring(world, worker, id)
      expect(await world.task(id)).toMatchObject({ status: end })
      expect(await world.store.tasks.retryTask(id)).toBe('retried')
      expect(await world.task(id)).toMatchObject({
        status: 'queued',
        attempts: 0,
        crashes: 0,
        input: [1],
        result: null,
        error: null,
        progress: null,
        startedAt: null,
        finishedAt: null,
      })
      expect(await world.counts()).toEqual(counts({ queued: 1 }))
      await worker.fail(await worker.claimOne(), 0)
      expect(await worker.claimOne()).toMatchObject({ id, attempt: 2 })
    })
  }

  specify('a task that has not ended is not retried by hand', async (world) => {
    const worker = await world.worker()
    const running = await world.enqueue()
    await worker.claimOne()
    const scheduled = await world.enqueue({ runAfter: { ms: 100 } })
    const queued = await world.enqueue()
    for (const id of [running, scheduled, queued]) {
      const before = await world.task(id)
      expect(await world.store.tasks.retryTask(id)).toBe('not-finished')
      expect(await world.task(id)).toEqual(before)
    }
    expect(await world.counts()).toEqual(counts({ running: 1, scheduled: 1, queued: 1 }))
  })

  specify('what never was cannot be retried', async ({ store }) => {
    for (const id of ['987654', 'nonsense', '']) expect(await store.tasks.retryTask(id), id).toBe('gone')
  })
}
