import type { Theme } from './theme.ts'

export const attempts: Theme = (specify, expect) => {
  specify('every attempt is remembered with its worker, its times and how it ended', async (world) => {
    const { store, clock } = world
    const id = await world.enqueue({ maxAttempts: 9 })
    expect(await store.tasks.taskAttempts(id)).toEqual([])
    const at = clock.now()
    const a = await world.worker({ worker: 'worker:a:0' })
    const first = await a.claimOne()
    clock.advance(5)
    await a.fail(first, 0, 'timeout')
    const b = await world.worker({ worker: 'worker:b:0' })
    await b.claimOne()
    expect(await store.tasks.taskAttempts(id)).toMatchObject([
      { attempt: 1, outcome: 'timeout' },
      {
        attempt: 2,
        outcome: 'running',
        worker: 'worker:b:0',
        startedAt: at + 5,
        finishedAt: null,
        error: null,
      },
    ])
    clock.advance(5)
    await b.end('lease')
    await a.complete(await a.claimOne())
    expect(await store.tasks.taskAttempts(id)).toMatchObject([
      {
        attempt: 1,
        worker: 'worker:a:0',
        outcome: 'timeout',
        startedAt: at,
        finishedAt: at + 5,
        error: { kind: 'timeout', message: 'no' },
      },
      { attempt: 2, worker: 'worker:b:0', outcome: 'lease', startedAt: at + 5, finishedAt: at + 10 },
      { attempt: 3, worker: 'worker:a:0', outcome: 'completed', finishedAt: at + 10, error: null },
    ])
  })

  specify('the history tells put-offs, hand-backs, crashes and cancellations apart', async (world) => {
    const { store, clock } = world
    const id = await world.enqueue({ maxAttempts: 9 })
    const worker = await world.worker()
    await worker.settle(await worker.claimOne(), { kind: 'later', afterMs: 5 })
    clock.advance(5)
    await worker.giveBack(await worker.claimOne())
    await worker.claimOne()
    await worker.end('stop')
    await worker.begin()
    await worker.claimOne()
    await worker.end('crash')
    await worker.begin()
    await worker.settle(await worker.claimOne(), { kind: 'cancelled' })
    const outcomes = (await store.tasks.taskAttempts(id)).map(({ outcome }) => outcome)
    expect(outcomes).toEqual(['later', 'returned', 'returned', 'crash', 'cancelled'])
  })

  specify('what was held but never started is no attempt', async (world) => {
    const id = await world.enqueue()
    const worker = await world.worker()
    const [held] = await worker.claim(0, 1)
    expect(await world.store.tasks.taskAttempts(id)).toEqual([])
    await worker.giveBack(held!)
    for (const cause of ['crash', 'stop', 'lease'] as const) {
      await worker.claim(0, 1)
      await worker.end(cause)
      await worker.begin()
    }
    expect(await world.store.tasks.taskAttempts(id)).toEqual([])
  })

  specify(
    'a task retried by hand keeps the history of its attempts, also of the one that completed',
    async (world) => {
      const id = await world.enqueue()
      const worker = await world.worker()
      await worker.complete(await worker.claimOne())
      await world.store.tasks.retryTask(id)
      await worker.fail(await worker.claimOne())
      const outcomes = (await world.store.tasks.taskAttempts(id)).map(({ outcome }) => outcome)
      expect(outcomes).toEqual(['completed', 'error'])
    },
  )

  specify('a task that never was has no attempts', async ({ store }) => {
    expect(await store.tasks.taskAttempts('nonsense')).toEqual([])
  })
}
