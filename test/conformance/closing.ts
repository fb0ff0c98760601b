import type { Theme } from './theme.ts'
import { newTask } from './world.ts'

export const closing: Theme = (specify, expect) => {
  specify('what was asked for before the store closed is done', async (world) => {
    const { store, database } = world
    const asked = Array.from({ length: 20 }, () => store.tasks.enqueue([newTask()]))
    await store.close()
    expect(await Promise.all(asked)).toHaveLength(20)
    expect(await (await database.open()).tasks.countTasks({})).toMatchObject({ queued: 20 })
  })

  specify(
    'a closed store refuses everything with a code, and closing it again is nothing',
    async ({ store }) => {
      await store.close()
      await store.close()
      const asked = [
        store.tasks.enqueue([newTask()]),
        store.tasks.getTask('1'),
        store.tasks.countTasks({}),
        store.tasks.cancelTask('1'),
        store.sessions.liveSessions(),
        store.admin.setPaused(null, true),
        store.sessions.endSession('1', 'stop'),
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
