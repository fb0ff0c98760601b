import type { Claim } from '../../src/store/ports/exchange.ts'
import type { Theme } from './theme.ts'
import { idsOf } from './world.ts'

const queuesOf = (claims: readonly Claim[]) => claims.map(({ queue }) => queue)

export const fairness: Theme = (specify, expect) => {
  specify('a worker takes from its queues in turn, whatever the priorities in each', async (world) => {
    await world.enqueueMany(5, { queue: 'a', priority: 1 })
    await world.enqueueMany(5, { queue: 'b', priority: 1000 })
    await world.enqueueMany(5, { queue: 'c' })
    const worker = await world.worker({ queues: ['a', 'b', 'c'] })
    expect(queuesOf(await worker.claim(4))).toEqual(['a', 'b', 'c', 'a'])
    expect(queuesOf(await worker.claim(4))).toEqual(['b', 'c', 'a', 'b'])
  })

  specify('one at a time, too, nobody waits behind the many of another queue', async (world) => {
    await world.enqueueMany(200, { queue: 'a', priority: 1 })
    await world.enqueueMany(3, { queue: 'b' })
    const worker = await world.worker({ queues: ['a', 'b'] })
    const queues: string[] = []
    for (let i = 0; i < 8; i++) queues.push((await worker.claimOne()).queue)
    expect(queues).toEqual(['a', 'b', 'a', 'b', 'a', 'b', 'a', 'a'])
  })

  specify('a queue that has nothing leaves its turn to the others', async (world) => {
    await world.enqueueMany(10, { queue: 'b' })
    await world.enqueue({ queue: 'a' })
    const worker = await world.worker({ queues: ['a', 'b', 'c'] })
    expect(queuesOf(await worker.claim(5, 20)).toSorted()).toEqual(['a', ...Array(10).fill('b')])
  })

  specify('a paused queue leaves its turn to the others', async (world) => {
    await world.enqueueMany(3, { queue: 'a' })
    await world.enqueueMany(3, { queue: 'b' })
    await world.store.admin.setPaused('a', true)
    const worker = await world.worker({ queues: ['a', 'b'] })
    expect(queuesOf(await worker.claim(9))).toEqual(['b', 'b', 'b'])
  })

  specify('within its turns each queue is in its own order, of all names', async (world) => {
    await world.store.admin.configureQueues([
      { name: 'old', ordering: { strategy: 'fifo', ageingMs: null } },
      { name: 'new', ordering: { strategy: 'lifo', ageingMs: null } },
    ])
    const ids: Record<string, string[]> = { old: [], new: [], plain: [] }
    for (let i = 0; i < 4; i++) {
      for (const queue of ['old', 'new', 'plain']) {
        ids[queue]!.push(await world.enqueue({ queue, name: i % 2 === 0 ? 'job' : 'other', priority: 9 - i }))
      }
      world.clock.advance(1)
    }
    const worker = await world.worker({ queues: ['old', 'new', 'plain'], names: ['job', 'other'] })
    const claims = [...(await worker.claim(5)), ...(await worker.claim(7))]
    const of = (queue: string) => idsOf(claims.filter((claim) => claim.queue === queue))
    expect(of('old')).toEqual(ids.old)
    expect(of('new')).toEqual(ids.new!.toReversed())
    expect(of('plain')).toEqual(ids.plain!.toReversed())
  })

  specify('each worker has turns of its own', async (world) => {
    await world.enqueueMany(4, { queue: 'a' })
    await world.enqueueMany(4, { queue: 'b' })
    const one = await world.worker({ queues: ['a', 'b'] })
    const two = await world.worker({ queues: ['a', 'b'] })
    expect(queuesOf(await one.claim(1))).toEqual(['a'])
    expect(queuesOf(await two.claim(1))).toEqual(['a'])
    expect(queuesOf(await one.claim(1))).toEqual(['b'])
  })
}
