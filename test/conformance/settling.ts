import type { Outcome } from '../../src/model/outcome.ts'
import type { FailureKind } from '../../src/model/task.ts'
import type { Claim } from '../../src/store/ports/exchange.ts'
import type { Theme } from './theme.ts'
import { counts } from './world.ts'

export const settling: Theme = (specify, expect) => {
  specify('a completed task keeps its result, its times and its worker', async (world) => {
    const id = await world.enqueue()
    const worker = await world.worker({ worker: 'worker:a:1' })
    const claim = await worker.claimOne()
    const startedAt = world.clock.now()
    world.clock.advance(30)
    const { refused } = await worker.exchange({
      outcomes: [{ ...claim, startedAt, outcome: { kind: 'completed', result: '{"n":1}' } }],
    })
    expect(refused).toEqual([])
    expect(await world.task(id)).toMatchObject({
      status: 'completed',
      result: { n: 1 },
      error: null,
      attempts: 1,
      worker: 'worker:a:1',
      startedAt,
      finishedAt: world.clock.now(),
    })
    expect(await world.counts()).toEqual(counts({ completed: 1 }))
  })

  specify('a task completes without a result, too', async (world) => {
    const id = await world.enqueue()
    const worker = await world.worker()
    await worker.complete(await worker.claimOne())
    expect(await world.task(id)).toMatchObject({ status: 'completed', result: null })
  })

  specify(
    'a task that was held ahead can be completed without its start being written first',
    async (world) => {
      const id = await world.enqueue()
      const worker = await world.worker()
      const [held] = await worker.claim(0, 1)
      const startedAt = world.clock.now()
      world.clock.advance(3)
      await worker.exchange({
        outcomes: [{ ...held!, startedAt, outcome: { kind: 'completed', result: null } }],
      })
      expect(await world.task(id)).toMatchObject({ status: 'completed', attempts: 1, startedAt })
      expect(await world.counts()).toEqual(counts({ completed: 1 }))
    },
  )

  specify(
    'of tasks completed together, one in other hands is refused and the rest completes',
    async (world) => {
      const ids = await world.enqueueMany(4)
      const worker = await world.worker()
      const other = await world.worker({ worker: 'worker:other:0' })
      const claims = await worker.claim(4)
      await worker.giveBack(claims[1]!)
      await other.claimOne()
      const { refused } = await worker.completeAll(claims)
      expect(refused).toEqual([ids[1]])
      expect(await world.task(ids[1]!)).toMatchObject({ status: 'running', worker: 'worker:other:0' })
      expect(await world.counts()).toEqual(counts({ running: 1, completed: 3 }))
    },
  )

  for (const [whose, forge] of [
    ['with a stale fence', (claim: Claim) => ({ ...claim, fence: claim.fence - 1 })],
    ['of another session', (claim: Claim) => claim],
  ] as const) {
    specify(`completions ${whose} are refused together, and change nothing`, async (world) => {
      await world.enqueueMany(3)
      const holder = await world.worker()
      const claims = await holder.claim(3)
      const writer = whose === 'of another session' ? await world.worker() : holder
      const { refused } = await writer.completeAll(claims.map(forge))
      expect(refused).toEqual(claims.map(({ id }) => id))
      expect(await world.counts()).toEqual(counts({ running: 3 }))
      const own = await writer.completeAll(claims.map(forge), (place) => `${place}`)
      expect(own.refused).toEqual(claims.map(({ id }) => id))
      expect(await world.counts()).toEqual(counts({ running: 3 }))
    })
  }

  specify('of many that are completed together each keeps its own result', async (world) => {
    const ids = await world.enqueueMany(5)
    const worker = await world.worker()
    const results = ['{"a":"\\u0000\\"\\\\"}', null, '"ä€😀"', 'null', JSON.stringify('x'.repeat(5_000))]
    await worker.completeAll(await worker.claim(5), (place) => results[place]!)
    const kept = await Promise.all(ids.map(async (id) => (await world.task(id)).result))
    expect(kept).toEqual(results.map((result) => (result === null ? null : JSON.parse(result))))
    expect(await world.counts()).toEqual(counts({ completed: 5 }))
  })

  specify('a failed attempt is tried again after its delay, with the error in sight', async (world) => {
    const id = await world.enqueue({ maxAttempts: 3 })
    const worker = await world.worker()
    await worker.fail(await worker.claimOne(), 1_000)
    expect(await world.task(id)).toMatchObject({
      status: 'scheduled',
      attempts: 1,
      runAfter: world.clock.now() + 1_000,
      startedAt: null,
      finishedAt: null,
      error: { kind: 'error', message: 'no', stack: null },
    })
    expect(await world.counts()).toEqual(counts({ scheduled: 1 }))
    world.clock.advance(1_000)
    expect(await worker.claimOne()).toMatchObject({ id, attempt: 2 })
  })

  specify('a retry without delay is queued at once', async (world) => {
    const id = await world.enqueue()
    const worker = await world.worker()
    await worker.fail(await worker.claimOne(), 0)
    expect(await world.counts()).toEqual(counts({ queued: 1 }))
    expect(await worker.claimOne()).toMatchObject({ id, attempt: 2 })
  })

  specify('the last attempt that fails is the end, whatever retry was asked for', async (world) => {
    const id = await world.enqueue({ maxAttempts: 2 })
    const worker = await world.worker()
    await worker.fail(await worker.claimOne(), 0)
    await worker.fail(await worker.claimOne(), 0)
    expect(await world.task(id)).toMatchObject({
      status: 'failed',
      attempts: 2,
      finishedAt: world.clock.now(),
    })
    expect(await world.counts()).toEqual(counts({ failed: 1 }))
    expect(await worker.claim()).toEqual([])
  })

  for (const kind of ['error', 'timeout', 'permanent'] satisfies FailureKind[]) {
    specify(`a final failure keeps its reason: ${kind}`, async (world) => {
      const id = await world.enqueue({ maxAttempts: 9 })
      const worker = await world.worker()
      const failure = { kind, message: 'it broke', stack: 'at line 1' }
      await worker.settle(await worker.claimOne(), { kind: 'failed', failure, retryAfterMs: null })
      expect(await world.task(id)).toMatchObject({ status: 'failed', attempts: 1, error: failure })
    })
  }

  specify('completing after failures clears the error', async (world) => {
    const id = await world.enqueue()
    const worker = await world.worker()
    await worker.fail(await worker.claimOne(), 0)
    await worker.complete(await worker.claimOne())
    expect(await world.task(id)).toMatchObject({ status: 'completed', error: null, attempts: 2 })
  })

  specify('a task put off to later gets its attempt back', async (world) => {
    const id = await world.enqueue({ maxAttempts: 1 })
    const worker = await world.worker()
    for (let round = 0; round < 3; round++) {
      await worker.settle(await worker.claimOne(), { kind: 'later', afterMs: 500 })
      expect(await world.task(id)).toMatchObject({ status: 'scheduled', attempts: 0, error: null })
      world.clock.advance(500)
    }
    expect(await worker.claimOne()).toMatchObject({ id, attempt: 1 })
  })

  specify('a task handed back gets its attempt back, started or not', async (world) => {
    const [first, second] = await world.enqueueMany(2, { maxAttempts: 1 })
    const worker = await world.worker()
    for (const claim of await worker.claim(1, 1)) await worker.giveBack(claim)
    expect(await world.counts()).toEqual(counts({ queued: 2 }))
    for (const id of [first!, second!]) {
      expect(await world.task(id)).toMatchObject({ status: 'queued', attempts: 0, startedAt: null })
    }
  })

  specify('progress of an attempt that did not complete is gone with it', async (world) => {
    const id = await world.enqueue()
    const worker = await world.worker()
    const claim = await worker.claimOne()
    await worker.exchange({ progress: [{ ...claim, fraction: 0.5, message: 'half' }] })
    await worker.fail(claim, 0)
    expect(await world.task(id)).toMatchObject({ progress: null })
  })

  specify('one exchange may hand in many outcomes of different kinds', async (world) => {
    const ids = await world.enqueueMany(5)
    const worker = await world.worker()
    const failure = { kind: 'error', message: 'no', stack: null } as const
    const outcomes: Outcome[] = [
      { kind: 'completed', result: null },
      { kind: 'failed', failure, retryAfterMs: null },
      { kind: 'later', afterMs: 100 },
      { kind: 'returned' },
      { kind: 'cancelled' },
    ]
    const claims = await worker.claim(5)
    const answer = await worker.exchange({
      outcomes: claims.map((claim, i) => ({ ...claim, startedAt: 1, outcome: outcomes[i]! })),
    })
    expect(answer.refused).toEqual([])
    const statuses = await Promise.all(ids.map(async (id) => (await world.task(id)).status))
    expect(statuses).toEqual(['completed', 'failed', 'scheduled', 'queued', 'cancelled'])
    expect(await world.counts()).toEqual(
      counts({ completed: 1, failed: 1, scheduled: 1, queued: 1, cancelled: 1 }),
    )
  })

  specify('an outcome that is refused takes none of its neighbours down', async (world) => {
    const [first, second] = await world.enqueueMany(2)
    const worker = await world.worker()
    const claims = await worker.claim(2)
    const outcome: Outcome = { kind: 'completed', result: null }
    const { refused } = await worker.exchange({
      outcomes: [
        { id: first!, fence: claims[0]!.fence - 1, startedAt: 1, outcome },
        { id: second!, fence: claims[1]!.fence, startedAt: 1, outcome },
      ],
    })
    expect(refused).toEqual([first])
    expect(await world.counts()).toEqual(counts({ running: 1, completed: 1 }))
  })
}
