import type { Theme } from './theme.ts'
import { counts } from './world.ts'

export const givingBack: Theme = (specify, expect) => {
  specify('a stop returns the attempts of all that was held, and charges nobody', async (world) => {
    const ids = await world.enqueueMany(4, { maxAttempts: 1 })
    const worker = await world.worker()
    await worker.claim(2, 2)
    expect(await worker.end('stop')).toEqual({ returned: 4, blamed: null, workerBroken: false })
    expect(await world.counts()).toEqual(counts({ queued: 4 }))
    for (const id of ids) {
      expect(await world.task(id)).toMatchObject({ attempts: 0, crashes: 0, startedAt: null, error: null })
    }
    const claims = await (await world.worker()).claim(4)
    expect(claims.map(({ suspect, attempt }) => ({ suspect, attempt }))).toEqual(
      ids.map(() => ({ suspect: false, attempt: 1 })),
    )
  })

  specify('what is left of several batches goes back when the session ends', async (world) => {
    await world.enqueueMany(6)
    const worker = await world.worker()
    const [first, second] = await worker.claim(3)
    const [third] = await worker.claim(3)
    await worker.completeAll([first!, second!, third!])
    expect(await worker.end('stop')).toMatchObject({ returned: 3 })
    expect(await world.counts()).toEqual(counts({ queued: 3, completed: 3 }))
  })

  specify(
    'what is handed in twice does not hide the rest of its batch: that still goes back',
    async (world) => {
      await world.enqueueMany(3)
      const worker = await world.worker()
      const [first] = await worker.claim(2)
      await worker.complete(first!)
      expect(await worker.complete(first!)).toMatchObject({ refused: [first!.id] })
      await worker.claim(1)
      expect(await worker.end('stop')).toMatchObject({ returned: 2 })
      expect(await world.counts()).toEqual(counts({ queued: 2, completed: 1 }))
    },
  )

  specify('a lost lease costs the attempt of what was running, and no crash', async (world) => {
    const [running, ahead] = await world.enqueueMany(2)
    const worker = await world.worker()
    await worker.claim(1, 1)
    expect(await worker.end('lease')).toEqual({ returned: 2, blamed: null, workerBroken: false })
    expect(await world.task(running!)).toMatchObject({
      status: 'queued',
      attempts: 1,
      crashes: 0,
      error: { kind: 'error' },
    })
    expect(await world.task(ahead!)).toMatchObject({ status: 'queued', attempts: 0, error: null })
    const claims = await (await world.worker()).claim(2)
    expect(claims.map(({ attempt, suspect }) => ({ attempt, suspect }))).toEqual([
      { attempt: 2, suspect: false },
      { attempt: 1, suspect: false },
    ])
  })

  specify('a lease lost in the last attempt is a failure', async (world) => {
    const id = await world.enqueue({ maxAttempts: 1 })
    const worker = await world.worker()
    await worker.claimOne()
    expect(await worker.end('lease')).toMatchObject({ returned: 0 })
    expect(await world.task(id)).toMatchObject({
      status: 'failed',
      attempts: 1,
      crashes: 0,
      error: { kind: 'error' },
      finishedAt: world.clock.now(),
    })
    expect(await world.counts()).toEqual(counts({ failed: 1 }))
  })

  for (const cause of ['crash', 'stop', 'lease'] as const) {
    specify(`a session that held nothing ends by ${cause} without consequences`, async (world) => {
      await world.enqueue()
      const worker = await world.worker()
      await worker.complete(await worker.claimOne())
      expect(await worker.end(cause)).toEqual({ returned: 0, blamed: null, workerBroken: false })
      expect(await world.counts()).toEqual(counts({ completed: 1 }))
    })

    specify(
      `what one session held when it ended by ${cause} says nothing about other sessions`,
      async (world) => {
        await world.enqueueMany(2)
        const worker = await world.worker()
        const other = await world.worker()
        await worker.claimOne()
        const claim = await other.claimOne()
        await worker.end(cause)
        expect((await other.complete(claim)).refused).toEqual([])
        expect(await world.counts()).toEqual(counts({ queued: 1, completed: 1 }))
      },
    )

    for (const held of ['running', 'held ahead'] as const) {
      specify(
        `a task ${held} that was asked to cancel is cancelled when its session ends by ${cause}`,
        async (world) => {
          const id = await world.enqueue()
          const worker = await world.worker()
          await (held === 'running' ? worker.claim(1) : worker.claim(0, 1))
          expect(await world.store.tasks.cancelTask(id)).toBe('requested')
          expect(await worker.end(cause)).toMatchObject({ returned: 0 })
          expect(await world.task(id)).toMatchObject({ status: 'cancelled', finishedAt: world.clock.now() })
          expect(await world.counts()).toEqual(counts({ cancelled: 1 }))
          expect(await (await world.worker()).claim(5)).toEqual([])
        },
      )
    }
  }
}
