import type { Theme } from './theme.ts'

/** What a worker holds, and what the store has in its name: after an answer was lost, or the server lost its last commits. */
export const comparing: Theme = (specify, expect) => {
  specify('what the store has in the name of a worker that knows nothing of it goes back', async (world) => {
    await world.enqueueMany(3)
    const worker = await world.worker()
    const [kept, forgotten] = await worker.claim(2)
    const { refused } = await worker.exchange({ holding: [kept!.id] })
    expect(refused).toEqual([])
    expect(await world.task(forgotten!.id)).toMatchObject({ status: 'queued', attempts: 0 })
    expect(await world.task(kept!.id)).toMatchObject({ status: 'running' })
    expect(await world.store.maintenance.check()).toEqual([])
    expect((await worker.complete(kept!)).refused).toEqual([])
    await worker.end('stop')
    expect(await world.store.maintenance.check()).toEqual([])
  })

  specify('what a worker holds and the store knows nothing of is refused', async (world) => {
    const [unclaimed] = await world.enqueueMany(1)
    const worker = await world.worker()
    const { refused } = await worker.exchange({ holding: [unclaimed!] })
    expect(refused).toEqual([unclaimed])
    expect(await worker.claim(1)).toHaveLength(1)
  })

  specify(
    'what is handed in while it is compared is taken, and neither refused nor given back',
    async (world) => {
      await world.enqueueMany(2)
      const worker = await world.worker()
      const [first, second] = await worker.claim(2)
      const outcome = { kind: 'completed', result: null } as const
      const { refused } = await worker.exchange({
        outcomes: [{ id: first!.id, fence: first!.fence, startedAt: world.clock.now(), outcome }],
        holding: [second!.id],
      })
      expect(refused).toEqual([])
      expect(await world.task(first!.id)).toMatchObject({ status: 'completed' })
      expect(await world.task(second!.id)).toMatchObject({ status: 'running' })
    },
  )
}
