import type { Enqueued } from '../../src/store/ports/new-task.ts'
import type { Theme } from './theme.ts'
import { counts, idsOf, newTask } from './world.ts'

export const userTransactions: Theme = (specify, expect) => {
  specify("tasks enqueued within a user's transaction commit with it", async (world) => {
    const { store, database } = world
    const answers: Enqueued[] = await database.transact(async (tx) => {
      await database.notes.write(tx, 'a')
      return store.tasks.within(tx).enqueue([newTask({ key: 'k', input: '"x"' }), newTask({ name: 'other' })])
    })
    expect(answers.map(({ created }) => created)).toEqual([true, true])
    expect(await world.task(answers[0]!.id)).toMatchObject({ key: 'k', input: 'x', status: 'queued' })
    expect(await database.notes.all()).toEqual(['a'])
    expect(await world.counts()).toEqual(counts({ queued: 2 }))
  })

  specify("tasks enqueued within a user's transaction vanish with it", async (world) => {
    const { store, database } = world
    const mistake = new Error('roll back')
    const failing = database.transact(async (tx) => {
      await database.notes.write(tx, 'a')
      await store.tasks.within(tx).enqueue([newTask({ name: 'never-seen', queue: 'never-seen', key: 'k' })])
      throw mistake
    })
    await expect(failing).rejects.toBe(mistake)
    expect(await database.notes.all()).toEqual([])
    expect(await world.counts()).toEqual(counts({}))
    expect(await store.tasks.enqueue([newTask({ name: 'never-seen', key: 'k' })])).toMatchObject([
      { created: true },
    ])
  })

  specify("a held key is answered with its holder within a user's transaction, too", async (world) => {
    const { store, database } = world
    const id = await world.enqueue({ key: 'k' })
    const answers = await database.transact(async (tx) =>
      store.tasks.within(tx).enqueue([newTask({ key: 'k' }), newTask()]),
    )
    expect(answers).toMatchObject([{ id, created: false }, { created: true }])
    expect(await world.counts()).toEqual(counts({ queued: 2 }))
  })

  specify("what was enqueued within a user's transaction is claimed like everything else", async (world) => {
    const { store, database } = world
    const worker = await world.worker({ queues: ['default', 'fresh'] })
    expect(await worker.claim(5)).toEqual([])
    const first = await world.enqueue()
    const answers: Enqueued[] = await database.transact(async (tx) =>
      store.tasks.within(tx).enqueue([newTask({ queue: 'fresh' }), newTask({ runAfter: { ms: 50 } })]),
    )
    const last = await world.enqueue()
    world.clock.advance(100)
    const [queued, delayed] = idsOf(answers)
    expect(idsOf(await worker.claim(5))).toEqual([first, queued, last, delayed])
  })

  specify('what is no transaction is refused', async ({ store }) => {
    for (const nonsense of [null, undefined, {}, 'sqlite', 5]) {
      const enqueue = async () => store.tasks.within(nonsense).enqueue([newTask()])
      await expect(enqueue()).rejects.toMatchObject({ code: 'BAD_OPTION' })
    }
  })
}
