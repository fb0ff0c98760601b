import type { Theme } from './theme.ts'

export const checking: Theme = (specify, expect) => {
  specify('a database finds nothing wrong with itself, at any step of a life', async (world) => {
    const { store } = world
    const sound = async () => expect(await store.maintenance.check()).toEqual([])
    await sound()
    await world.enqueueMany(4, { input: JSON.stringify('x'.repeat(5_000)) })
    await world.enqueue({ runAfter: { ms: 100 }, key: 'k', keyScope: 'forever' })
    const worker = await world.worker()
    const [first, second, third] = await worker.claim(2, 1)
    await sound()
    await worker.complete(first!)
    await worker.fail(second!, 500)
    await worker.log(third!, 'hello')
    await sound()
    await worker.end('crash')
    await sound()
    for (const { id } of await world.list()) await store.tasks.removeTask(id)
    await sound()
  })

  specify('optimizing and a checkpoint change nothing', async (world) => {
    const { store } = world
    await world.enqueueMany(50)
    const worker = await world.worker()
    await worker.complete(await worker.claimOne())
    const before = await world.list()
    await store.maintenance.optimize({})
    await store.maintenance.optimize({ vacuum: true })
    expect(await store.maintenance.checkpoint()).toEqual({ complete: true })
    expect(await world.list()).toEqual(before)
    expect(await store.maintenance.check()).toEqual([])
    expect(await worker.claim(3)).toHaveLength(3)
  })
}
