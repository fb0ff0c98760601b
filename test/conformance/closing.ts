import type { Theme } from './theme.ts'
import { newTask } from './world.ts'

export const closing: Theme = (specify, expect) => {
  specify('what was asked for before the store closed is done', async (world) => {
    const { store, database } = world
    const asked = Array.from({ length: 20 }, () => store.enqueue([newTask()]))
    await store.close()
    expect(await Promise.all(asked)).toHaveLength(20)
    expect(await (await database.open()).countTasks({})).toMatchObject({ queued: 20 })
  })

  specify(
    'a closed store refuses everything with a code, and closing it again is nothing',
    async ({ store }) => {
      await store.close()
      await store.close()
      const asked = [
        store.enqueue([newTask()]),
        store.getTask('1'),
        store.countTasks({}),
        store.cancelTask('1'),
        store.liveSessions(),
        store.setPaused(null, true),
        store.endSession('1', 'stop'),
      ]
      for (const answer of asked) await expect(answer).rejects.toMatchObject({ code: 'CLOSED' })
    },
  )

  specify('a store that closes leaves the others on its database alone', async (world) => {
    const other = await world.database.open()
    const id = await world.enqueue()
    await world.store.close()
    const worker = await world.worker({}, other)
    expect(await worker.claimOne()).toMatchObject({ id })
  })
}
