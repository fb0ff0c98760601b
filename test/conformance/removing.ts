import type { Theme } from './theme.ts'
import { counts, newTask } from './world.ts'

export const removing: Theme = (specify, expect) => {
  specify(
    'a task is removed with its logs, its attempts and its input, in every state but held',
    async (world) => {
      const { store } = world
      const worker = await world.worker()
      const input = JSON.stringify('x'.repeat(5_000))
      const completed = await world.enqueue({ input })
      const claim = await worker.claimOne()
      await worker.log(claim, 'hello')
      await worker.fail(claim, 0)
      await worker.complete(await worker.claimOne())
      const failed = await world.enqueue({ input })
      await worker.fail(await worker.claimOne())
      const cancelled = await world.enqueue()
      await store.tasks.cancelTask(cancelled)
      const scheduled = await world.enqueue({ runAfter: { ms: 1_000 } })
      const due = await world.enqueue({ runAfter: { ms: 1 } })
      const queued = await world.enqueue()
      world.clock.advance(1)
      for (const id of [completed, failed, cancelled, scheduled, due, queued]) {
        expect(await store.tasks.removeTask(id)).toBe('removed')
        expect(await store.tasks.getTask(id)).toBe(null)
        expect(await store.tasks.taskLogs(id, { limit: 10, cursor: null })).toEqual({ items: [], next: null })
        expect(await store.tasks.taskAttempts(id)).toEqual([])
        await world.counts()
      }
      expect(await world.counts()).toEqual(counts({}))
      expect(await store.tasks.removeTask(completed)).toBe('gone')
    },
  )

  specify('a task that somebody holds is not removed', async (world) => {
    const [running, ahead] = await world.enqueueMany(2)
    const worker = await world.worker()
    const claims = await worker.claim(1, 1)
    expect(await world.store.tasks.removeTask(running!)).toBe('running')
    expect(await world.store.tasks.removeTask(ahead!)).toBe('running')
    for (const claim of claims) expect((await worker.complete(claim)).refused).toEqual([])
    expect(await world.counts()).toEqual(counts({ completed: 2 }))
  })

  specify('what never was is gone', async ({ store }) => {
    for (const id of ['987654', 'nonsense', '']) expect(await store.tasks.removeTask(id), id).toBe('gone')
  })

  specify('the id of a removed task never comes back', async (world) => {
    const used = new Set<string>()
    for (let round = 0; round < 5; round++) {
      const ids = await world.enqueueMany(3)
      for (const id of ids) {
        expect(used.has(id), id).toBe(false)
        used.add(id)
        await world.store.tasks.removeTask(id)
      }
    }
    await world.store.close()
    const [answer] = await (await world.database.open()).tasks.enqueue([newTask()])
    expect(used.has(answer!.id)).toBe(false)
  })

  specify('counts stay exact when tasks are removed from the middle and the end', async (world) => {
    const ids = await world.enqueueMany(1_200)
    for (const id of [ids[0]!, ids[600]!, ids[1_199]!]) await world.store.tasks.removeTask(id)
    expect(await world.store.tasks.countTasks({})).toEqual(counts({ queued: 1_197 }))
    await world.enqueueMany(10)
    expect(await world.store.tasks.countTasks({})).toEqual(counts({ queued: 1_207 }))
    expect(await world.list({}, 500)).toHaveLength(1_207)
  })
}
