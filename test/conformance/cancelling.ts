import type { Theme } from './theme.ts'
import { counts } from './world.ts'

export const cancelling: Theme = (specify, expect) => {
  specify('a waiting task is cancelled at once, queued, scheduled, due or backing off', async (world) => {
    const failing = await world.enqueue()
    const worker = await world.worker()
    await worker.fail(await worker.claimOne(), 5_000)
    const due = await world.enqueue({ runAfter: { ms: 10 } })
    world.clock.advance(10)
    const queued = await world.enqueue()
    const scheduled = await world.enqueue({ runAfter: { ms: 1_000 } })
    for (const id of [failing, due, queued, scheduled]) {
      expect(await world.store.tasks.cancelTask(id)).toBe('cancelled')
      expect(await world.task(id)).toMatchObject({ status: 'cancelled', finishedAt: world.clock.now() })
      await world.counts()
    }
    expect(await world.counts()).toEqual(counts({ cancelled: 4 }))
    world.clock.advance(10_000)
    expect(await worker.claim(10)).toEqual([])
  })

  specify('whoever holds a task is asked to cancel it, and told so in every exchange', async (world) => {
    const [running, ahead, other] = await world.enqueueMany(3)
    const worker = await world.worker()
    const claims = await worker.claim(1, 2)
    expect(await world.store.tasks.cancelTask(running!)).toBe('requested')
    expect(await world.store.tasks.cancelTask(ahead!)).toBe('requested')
    expect(await world.store.tasks.cancelTask(running!)).toBe('requested')
    expect(await world.counts()).toEqual(counts({ running: 1, queued: 2 }))
    expect((await worker.exchange({})).cancels.sort()).toEqual([running, ahead].sort())
    expect((await worker.start(claims[2]!)).cancels.sort()).toEqual([running, ahead].sort())
    await worker.settle(claims[0]!, { kind: 'cancelled' })
    await worker.settle(claims[1]!, { kind: 'cancelled' })
    expect((await worker.exchange({})).cancels).toEqual([])
    expect(await world.task(running!)).toMatchObject({ status: 'cancelled', error: null })
    expect(await world.counts()).toEqual(counts({ cancelled: 2, running: 1 }))
    expect(await world.task(other!)).toMatchObject({ status: 'running' })
  })

  specify('only the session that holds a task is asked to cancel it', async (world) => {
    const [first] = await world.enqueueMany(2)
    const holder = await world.worker()
    const other = await world.worker({}, await world.database.open())
    await holder.claimOne()
    await other.claimOne()
    await world.store.tasks.cancelTask(first!)
    expect((await other.exchange({})).cancels).toEqual([])
    expect((await holder.exchange({})).cancels).toEqual([first])
  })

  specify('a task that completes although it was asked to cancel is completed', async (world) => {
    const id = await world.enqueue()
    const worker = await world.worker()
    const claim = await worker.claimOne()
    await world.store.tasks.cancelTask(id)
    await worker.complete(claim, '1')
    expect(await world.task(id)).toMatchObject({ status: 'completed', result: 1 })
  })

  for (const [how, retry] of [
    ['fails', { kind: 'failed', failure: { kind: 'error', message: 'x', stack: null }, retryAfterMs: 0 }],
    ['is put off', { kind: 'later', afterMs: 10 }],
    ['is handed back', { kind: 'returned' }],
  ] as const) {
    specify(`a task that ${how} after it was asked to cancel is not run again`, async (world) => {
      const id = await world.enqueue()
      const worker = await world.worker()
      const claim = await worker.claimOne()
      await world.store.tasks.cancelTask(id)
      await worker.settle(claim, retry)
      expect(await world.task(id)).toMatchObject({ status: 'cancelled' })
      expect(await world.counts()).toEqual(counts({ cancelled: 1 }))
    })
  }

  specify('what has ended cannot be cancelled, and what never was is gone', async (world) => {
    const id = await world.enqueue()
    const worker = await world.worker()
    await worker.complete(await worker.claimOne())
    expect(await world.store.tasks.cancelTask(id)).toBe('finished')
    expect(await world.task(id)).toMatchObject({ status: 'completed' })
    const cancelled = await world.enqueue()
    await world.store.tasks.cancelTask(cancelled)
    expect(await world.store.tasks.cancelTask(cancelled)).toBe('finished')
    for (const nobody of ['987654', 'nonsense', '']) {
      expect(await world.store.tasks.cancelTask(nobody), nobody).toBe('gone')
    }
  })

  specify('a cancelled task that is retried by hand is not cancelled again', async (world) => {
    const id = await world.enqueue()
    const worker = await world.worker()
    await worker.claim(0, 1)
    await world.store.tasks.cancelTask(id)
    await worker.end('crash')
    expect(await world.store.tasks.retryTask(id)).toBe('retried')
    await worker.begin()
    await worker.claimOne()
    expect((await worker.exchange({})).cancels).toEqual([])
  })
}
