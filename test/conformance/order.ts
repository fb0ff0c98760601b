import type { Theme } from './theme.ts'
import { idsOf } from './world.ts'

export const order: Theme = (specify, expect) => {
  specify('the lowest priority number is first', async (world) => {
    const last = await world.enqueue({ priority: 1000 })
    const middle = await world.enqueue({ priority: 100 })
    world.clock.advance(1_000)
    const first = await world.enqueue({ priority: 1 })
    const worker = await world.worker()
    expect(idsOf(await worker.claim(3))).toEqual([first, middle, last])
  })

  specify('equal priorities come first in, first out', async (world) => {
    const ids: string[] = []
    for (let i = 0; i < 20; i++) {
      ids.push(await world.enqueue())
      if (i % 3 === 0) world.clock.advance(1)
    }
    const worker = await world.worker()
    expect(idsOf([...(await worker.claim(7)), ...(await worker.claim(13))])).toEqual(ids)
  })

  specify('the tasks of one call keep their order', async (world) => {
    const ids = await world.enqueueMany(50)
    expect(idsOf(await (await world.worker()).claim(50))).toEqual(ids)
  })

  specify('all names of a queue are one line', async (world) => {
    const names = ['a', 'b', 'c']
    const ids: string[] = []
    for (let i = 0; i < 12; i++) {
      ids.push(await world.enqueue({ name: names[i % 3]! }))
      world.clock.advance(1)
    }
    const first = await world.enqueue({ name: 'c', priority: 1 })
    const worker = await world.worker({ names })
    expect(idsOf([...(await worker.claim(5)), ...(await worker.claim(20))])).toEqual([first, ...ids])
  })

  specify('a task that is handed back keeps its place', async (world) => {
    const [first] = await world.enqueueMany(3)
    const worker = await world.worker()
    const claim = await worker.claimOne()
    world.clock.advance(1_000)
    await worker.giveBack(claim)
    expect((await worker.claimOne()).id).toBe(first)
  })

  specify('what an ended session held keeps its place, started or not', async (world) => {
    const ids = await world.enqueueMany(4)
    const worker = await world.worker()
    await worker.claim(1, 1)
    world.clock.advance(1_000)
    await worker.end('stop')
    expect(idsOf(await (await world.worker()).claim(4))).toEqual(ids)
  })

  specify('a delayed task stands where it became due', async (world) => {
    const delayed = await world.enqueue({ runAfter: { ms: 500 } })
    const before = await world.enqueue()
    world.clock.advance(1_000)
    const after = await world.enqueue()
    expect(idsOf(await (await world.worker()).claim(3))).toEqual([before, delayed, after])
  })

  specify('a delayed task of higher priority goes before those that waited', async (world) => {
    const waiting = await world.enqueue()
    const delayed = await world.enqueue({ priority: 5, runAfter: { ms: 500 } })
    world.clock.advance(500)
    expect(idsOf(await (await world.worker()).claim(2))).toEqual([delayed, waiting])
  })

  specify('a task that failed stands where its next try became due', async (world) => {
    const failing = await world.enqueue()
    const worker = await world.worker()
    await worker.fail(await worker.claimOne(), 500)
    const before = await world.enqueue()
    world.clock.advance(1_000)
    const after = await world.enqueue()
    expect(idsOf(await worker.claim(3))).toEqual([before, failing, after])
  })

  specify('a task retried by hand stands at the end of its priority', async (world) => {
    const retried = await world.enqueue()
    const worker = await world.worker()
    await worker.fail(await worker.claimOne())
    world.clock.advance(1)
    const waiting = await world.enqueue()
    world.clock.advance(1)
    await world.store.tasks.retryTask(retried)
    const later = await world.enqueue({ priority: 101 })
    expect(idsOf(await worker.claim(3))).toEqual([waiting, retried, later])
  })
}
