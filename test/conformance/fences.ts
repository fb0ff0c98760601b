import { everythingAbout, WRITES } from './late-writes.ts'
import type { Theme } from './theme.ts'
import { newTask } from './world.ts'

export const fences: Theme = (specify, expect) => {
  specify('fences never decrease, whoever claims and through whichever store', async (world) => {
    await world.enqueueMany(30)
    const workers = [await world.worker(), await world.worker({}, await world.database.open())]
    const fences: number[] = []
    for (let i = 0; i < 10; i++) {
      const claims = await workers[i % 2]!.claim(1 + (i % 3))
      fences.push(...claims.map(({ fence }) => fence))
    }
    expect(fences).toEqual([...fences].sort((a, b) => a - b))
  })

  specify('every new claim of a task has a new, greater fence', async (world) => {
    await world.enqueue({ maxAttempts: 100 })
    const worker = await world.worker()
    let last = 0
    for (let round = 0; round < 5; round++) {
      const claim = await worker.claimOne()
      expect(claim.fence).toBeGreaterThan(last)
      last = claim.fence
      if (round % 2 === 0) await worker.giveBack(claim)
      else await worker.fail(claim, 0)
    }
    const { fence } = await worker.claimOne()
    await worker.end('stop')
    expect((await (await world.worker()).claimOne()).fence).toBeGreaterThan(fence)
  })

  specify('a task retried by hand is claimed with a fence it never had', async (world) => {
    const id = await world.enqueue()
    const worker = await world.worker()
    const before = await worker.claimOne()
    await worker.complete(before)
    await world.store.tasks.retryTask(id)
    expect((await worker.claimOne()).fence).toBeGreaterThan(before.fence)
  })

  specify(
    'fences go on where they were when everything was removed and the store opened again',
    async (world) => {
      const id = await world.enqueue()
      const worker = await world.worker()
      const before = await worker.claimOne()
      await worker.complete(before)
      await world.store.tasks.removeTask(id)
      await worker.end('stop')
      await world.store.close()
      const store = await world.database.open()
      const again = await world.worker({}, store)
      await store.tasks.enqueue([newTask()])
      expect((await again.claimOne()).fence).toBeGreaterThan(before.fence)
    },
  )

  for (const [name, write] of Object.entries(WRITES)) {
    specify(`${name} with a stale fence is refused and changes nothing`, async (world) => {
      const id = await world.enqueue()
      const worker = await world.worker()
      const stale = await worker.claimOne()
      await worker.giveBack(stale)
      const [current] = await worker.claim(0, 1)
      expect(current?.id).toBe(id)
      const before = await everythingAbout(world, id)
      world.clock.advance(10)
      expect([true, 'unsaid']).toContain(await write(worker, stale, world))
      expect(await everythingAbout(world, id)).toEqual(before)
      expect((await worker.complete(current!)).refused).toEqual([])
    })

    specify(
      `${name} with the fence of another session's claim is refused and changes nothing`,
      async (world) => {
        const id = await world.enqueue()
        const claim = await (await world.worker()).claimOne()
        const thief = await world.worker({ worker: 'worker:thief:0' })
        const before = await everythingAbout(world, id)
        world.clock.advance(10)
        expect([true, 'unsaid']).toContain(await write(thief, claim, world))
        expect(await everythingAbout(world, id)).toEqual(before)
      },
    )

    // The last words of an attempt may come a moment after its end.
    if (name === 'a log line') continue
    specify(`${name} for a task that is finished is refused and changes nothing`, async (world) => {
      const id = await world.enqueue()
      const worker = await world.worker()
      const claim = await worker.claimOne()
      await worker.complete(claim, '"once"')
      const before = await everythingAbout(world, id)
      world.clock.advance(10)
      expect([true, 'unsaid']).toContain(await write(worker, claim, world))
      expect(await everythingAbout(world, id)).toEqual(before)
    })
  }

  specify('an outcome for a task that does not exist is refused', async (world) => {
    const worker = await world.worker()
    for (const id of ['12345', 'nonsense', '']) {
      expect((await worker.complete({ id, fence: 1 })).refused, id).toEqual([id])
    }
  })

  specify('an outcome for a task that was removed and is somebody else by now is refused', async (world) => {
    const id = await world.enqueue()
    const worker = await world.worker()
    const claim = await worker.claimOne()
    await worker.complete(claim)
    await world.store.tasks.removeTask(id)
    await world.enqueue()
    await worker.claimOne()
    expect((await worker.complete(claim)).refused).toEqual([id])
    expect((await world.counts()).running).toBe(1)
  })
}
