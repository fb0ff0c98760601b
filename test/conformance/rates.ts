import { limitKeys, limitQueue, ofKey, rate } from './limiting.ts'
import type { Theme } from './theme.ts'

export const rates: Theme = (specify, expect) => {
  specify(
    'never more start within the time of a rate than it says, and the next one as soon as it may',
    async (world) => {
      await limitQueue(world, rate(3, 1_000))
      await world.enqueueMany(10)
      const worker = await world.worker()
      expect(await worker.claim(1)).toHaveLength(1)
      world.clock.advance(400)
      expect(await worker.take(5)).toMatchObject({ claims: [{}, {}], nextDueInMs: 600 })
      world.clock.advance(599)
      expect(await worker.take(5)).toMatchObject({ claims: [], nextDueInMs: 1 })
      world.clock.advance(1)
      expect(await worker.take(5)).toMatchObject({ claims: [{}], nextDueInMs: 400 })
      world.clock.advance(400)
      expect(await worker.claim(5)).toHaveLength(2)
    },
  )

  specify(
    'what ends early does not count less for the rate, nor does a crash give it back',
    async (world) => {
      await limitKeys(world, rate(2, 1_000))
      await ofKey(world, 'a', 5)
      const worker = await world.worker()
      await worker.completeAll(await worker.claim(1))
      const gone = await world.worker({ worker: 'worker:test:9' })
      await gone.claimOne()
      await gone.end('stop')
      expect(await worker.take(5)).toMatchObject({ claims: [], nextDueInMs: 1_000 })
      world.clock.advance(1_000)
      expect(await worker.claim(5)).toHaveLength(2)
    },
  )

  specify('each key has a rate of its own, and tells when it may go on', async (world) => {
    await limitKeys(world, rate(1, 1_000))
    await ofKey(world, 'a', 2)
    const worker = await world.worker()
    expect(await worker.claim(5)).toHaveLength(1)
    world.clock.advance(300)
    await ofKey(world, 'b', 2)
    expect(await worker.take(5)).toMatchObject({ claims: [{}], nextDueInMs: 700 })
    world.clock.advance(700)
    expect(await worker.take(5)).toMatchObject({ claims: [{}], nextDueInMs: 300 })
  })

  specify('a minute at a rate of 20 a second is 1200 starts, and never 21 in one', async (world) => {
    await limitQueue(world, rate(20, 1_000))
    await limitKeys(world, rate(18, 1_000))
    await ofKey(world, 'a', 1_500)
    await ofKey(world, 'b', 1_500)
    const worker = await world.worker()
    const begin = world.clock.now()
    const starts: number[] = []
    while (world.clock.now() < begin + 60_000) {
      const { claims, nextDueInMs } = await worker.take(1 + (starts.length % 13))
      for (const _ of claims) starts.push(world.clock.now())
      await worker.completeAll(claims)
      world.clock.advance(Math.max(1, claims.length > 0 ? 15 : nextDueInMs!))
    }
    expect(starts.length).toBeLessThanOrEqual(1_200)
    expect(starts.length).toBeGreaterThanOrEqual(1_140)
    for (const [i, at] of starts.entries()) {
      const twentieth = starts[i + 20]
      if (twentieth !== undefined) expect(twentieth - at).toBeGreaterThanOrEqual(1_000)
    }
  })
}
