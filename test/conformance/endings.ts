import type { Theme } from './theme.ts'

export const endings: Theme = (specify, expect) => {
  specify('endings tell of those tasks that have ended, and leave the others out', async (world) => {
    const { store } = world
    const worker = await world.worker()
    const completed = await world.enqueue()
    await worker.complete(await worker.claimOne(), '{"n":1}')
    const failed = await world.enqueue()
    await worker.fail(await worker.claimOne())
    const cancelled = await world.enqueue()
    await store.tasks.cancelTask(cancelled)
    const removed = await world.enqueue()
    await store.tasks.removeTask(removed)
    const running = await world.enqueue()
    await worker.claimOne()
    const queued = await world.enqueue()
    const scheduled = await world.enqueue({ runAfter: { ms: 10 } })
    const asked = [completed, failed, cancelled, removed, running, queued, scheduled, 'nonsense']
    expect(await store.tasks.results(asked)).toEqual(
      new Map<string, unknown>([
        [completed, { status: 'completed', result: { n: 1 }, error: null }],
        [failed, { status: 'failed', result: null, error: { kind: 'error', message: 'no', stack: null } }],
        [cancelled, { status: 'cancelled', result: null, error: null }],
        [removed, { status: 'gone', result: null, error: null }],
        ['nonsense', { status: 'gone', result: null, error: null }],
      ]),
    )
  })

  specify('a task that is retried has not ended', async (world) => {
    const id = await world.enqueue()
    await world.store.tasks.cancelTask(id)
    await world.store.tasks.retryTask(id)
    expect(await world.store.tasks.results([id])).toEqual(new Map())
  })

  specify('nobody asked about is nobody told about', async ({ store }) => {
    expect(await store.tasks.results([])).toEqual(new Map())
  })

  specify('the endings of a thousand tasks come in one call', async (world) => {
    const ids = await world.enqueueMany(1_000)
    const worker = await world.worker()
    const claims = await worker.claim(1_000)
    await worker.exchange({
      outcomes: claims.map((claim) => ({
        ...claim,
        startedAt: 1,
        outcome: { kind: 'completed', result: null },
      })),
    })
    expect((await world.store.tasks.results(ids)).size).toBe(1_000)
  })
}
