import type { Theme } from './theme.ts'
import { counts, idsOf } from './world.ts'

export const claiming: Theme = (specify, expect) => {
  specify('a claim carries all a worker needs to run the task', async (world) => {
    const retry = { backoff: 'fixed', baseMs: 5, maxMs: 9, jitter: 0 } as const
    const trace = { traceparent: '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01' }
    const overrides = { retry, timeoutMs: 70, trace }
    const id = await world.enqueue({ input: '[1]', key: 'k', maxAttempts: 4, overrides })
    const createdAt = world.clock.now()
    world.clock.advance(10)
    const worker = await world.worker()
    const { fence, ...claim } = await worker.claimOne()
    expect(typeof fence).toBe('number')
    expect(claim).toEqual({
      id,
      name: 'job',
      queue: 'default',
      input: '[1]',
      attempt: 1,
      maxAttempts: 4,
      overrides,
      key: 'k',
      createdAt,
      started: true,
      suspect: false,
    })
  })

  specify('a claimed task is running, with its worker, its start and its attempt', async (world) => {
    const id = await world.enqueue()
    world.clock.advance(10)
    const worker = await world.worker({ worker: 'worker:ml:3' })
    await worker.claimOne()
    expect(await world.task(id)).toMatchObject({
      status: 'running',
      worker: 'worker:ml:3',
      attempts: 1,
      startedAt: world.clock.now(),
    })
  })

  specify('two claimants never get the same task', async (world) => {
    const ids = await world.enqueueMany(10)
    const first = await world.worker()
    const second = await world.worker({}, await world.database.open())
    const claims = [...(await first.claim(4)), ...(await second.claim(4)), ...(await first.claim(4))]
    expect(idsOf(claims)).toEqual(ids)
    expect(await second.claim(4)).toEqual([])
  })

  specify('claimants that ask at the same time share what there is, each task once', async (world) => {
    const ids = await world.enqueueMany(200)
    const workers = await Promise.all(
      [1, 2, 3, 4].map(async () => world.worker({}, await world.database.open())),
    )
    const asked = Array.from({ length: 60 }, (_, i) => workers[i % workers.length]!.claim(5))
    const claimed = idsOf((await Promise.all(asked)).flat())
    expect(claimed.map(Number).sort((a, b) => a - b)).toEqual(ids.map(Number).sort((a, b) => a - b))
  })

  specify('a worker gets no more than it wants', async (world) => {
    await world.enqueueMany(10)
    const worker = await world.worker()
    expect(await worker.claim(3)).toHaveLength(3)
    expect(await worker.claim(1, 2)).toHaveLength(3)
    expect(await world.counts()).toEqual(counts({ running: 4, queued: 6 }))
  })

  specify('an exchange that wants nothing gets nothing', async (world) => {
    await world.enqueue()
    const worker = await world.worker()
    expect(await worker.exchange({})).toMatchObject({ claims: [], sessionEnded: false })
    expect(await world.counts()).toEqual(counts({ queued: 1 }))
  })

  specify('nothing to claim is an empty answer', async (world) => {
    const worker = await world.worker()
    expect(await worker.take(5)).toEqual({
      claims: [],
      refused: [],
      cancels: [],
      sessionEnded: false,
      suspectsWaiting: false,
      nextDueInMs: null,
      paused: false,
    })
  })

  specify(
    'what a worker holds but has not started shows as queued, and nobody else gets it',
    async (world) => {
      const [first, second] = await world.enqueueMany(2)
      const worker = await world.worker()
      const claims = await worker.claim(1, 1)
      expect(claims.map(({ id, started }) => ({ id, started }))).toEqual([
        { id: first, started: true },
        { id: second, started: false },
      ])
      expect(await world.task(second!)).toMatchObject({ status: 'queued', startedAt: null })
      expect(await world.counts()).toEqual(counts({ running: 1, queued: 1 }))
      expect(await (await world.worker()).claim(5)).toEqual([])
    },
  )

  specify('what was held ahead is running from its start', async (world) => {
    const id = await world.enqueue()
    const worker = await world.worker()
    const [held] = await worker.claim(0, 1)
    world.clock.advance(50)
    expect(await worker.start(held!)).toMatchObject({ refused: [] })
    expect(await world.task(id)).toMatchObject({ status: 'running', startedAt: world.clock.now() })
    expect(await world.counts()).toEqual(counts({ running: 1 }))
  })

  specify('handing in what is finished and taking what is next is one exchange', async (world) => {
    const [first, second] = await world.enqueueMany(2)
    const worker = await world.worker()
    const { id, fence } = await worker.claimOne()
    const answer = await worker.exchange({
      outcomes: [{ id, fence, startedAt: 1, outcome: { kind: 'completed', result: '"ok"' } }],
      want: { able: worker.able, start: 1, ahead: 0, empty: true },
    })
    expect(idsOf(answer.claims)).toEqual([second])
    expect(await world.task(first!)).toMatchObject({ status: 'completed', result: 'ok' })
    expect(await world.counts()).toEqual(counts({ completed: 1, running: 1 }))
  })

  specify('a task handed back in an exchange can be claimed in the same one', async (world) => {
    const id = await world.enqueue()
    const worker = await world.worker()
    const { fence } = await worker.claimOne()
    const answer = await worker.exchange({
      outcomes: [{ id, fence, startedAt: 1, outcome: { kind: 'returned' } }],
      want: { able: worker.able, start: 1, ahead: 0, empty: true },
    })
    expect(answer.claims).toMatchObject([{ id, attempt: 1 }])
    expect(answer.claims[0]?.fence).toBeGreaterThan(fence)
  })

  specify(
    'what is reported right before the end is kept, and a later attempt begins without it',
    async (world) => {
      const ids = [await world.enqueue(), await world.enqueue()]
      const worker = await world.worker()
      const progress = { fraction: 0.75, message: 'almost' }
      const claims = (await worker.take(2)).claims
      await worker.exchange({
        progress: claims.map(({ id, fence }) => ({ id, fence, ...progress })),
        outcomes: claims.map(({ id, fence }) => {
          const isFirst = id === ids[0]
          const failure = { kind: 'error', message: 'no', stack: null } as const
          const outcome = isFirst
            ? ({ kind: 'completed', result: null } as const)
            : ({ kind: 'failed', failure, retryAfterMs: 5 } as const)
          return { id, fence, startedAt: world.clock.now(), outcome }
        }),
      })
      expect(await world.task(ids[0]!)).toMatchObject({ status: 'completed', progress })
      expect(await world.task(ids[1]!)).toMatchObject({ status: 'scheduled', progress: null })
    },
  )

  specify('progress of a running task is seen by readers', async (world) => {
    const id = await world.enqueue()
    const worker = await world.worker()
    const { fence } = await worker.claimOne()
    await worker.exchange({ progress: [{ id, fence, fraction: 0.25, message: 'a quarter' }] })
    expect((await world.task(id)).progress).toEqual({ fraction: 0.25, message: 'a quarter' })
    await worker.exchange({ progress: [{ id, fence, fraction: 0.5, message: null }] })
    expect((await world.task(id)).progress).toEqual({ fraction: 0.5, message: null })
  })
}
