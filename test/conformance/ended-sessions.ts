import { everythingAbout, WRITES } from './late-writes.ts'
import type { Theme } from './theme.ts'
import { counts } from './world.ts'

export const endedSessions: Theme = (specify, expect) => {
  for (const [name, write] of Object.entries(WRITES)) {
    specify(`${name} of an ended session is refused, though nobody took the task since`, async (world) => {
      const id = await world.enqueue()
      const worker = await world.worker()
      const claim = await worker.claimOne()
      await world.store.sessions.endSession(worker.session, 'lease')
      const before = await everythingAbout(world, id)
      world.clock.advance(10)
      expect([true, 'unsaid']).toContain(await write(worker, claim, world))
      expect(await everythingAbout(world, id)).toEqual(before)
    })

    specify(`${name} of an ended session is refused when the task is in other hands`, async (world) => {
      const id = await world.enqueue()
      const late = await world.worker({ worker: 'worker:late:0' })
      const claim = await late.claimOne()
      await world.store.sessions.endSession(late.session, 'lease')
      const heir = await world.worker({ worker: 'worker:heir:0' })
      const inherited = await heir.claimOne()
      const before = await everythingAbout(world, id)
      world.clock.advance(10)
      expect([true, 'unsaid']).toContain(await write(late, claim, world))
      expect(await everythingAbout(world, id)).toEqual(before)
      expect((await heir.complete(inherited)).refused).toEqual([])
    })
  }

  for (const cause of ['crash', 'stop', 'lease'] as const) {
    specify(`a session that ended by ${cause} claims nothing more, and is told so`, async (world) => {
      await world.enqueue()
      const worker = await world.worker()
      await worker.end(cause)
      expect(await worker.take(5)).toMatchObject({ claims: [], sessionEnded: true })
      expect(await world.counts()).toEqual(counts({ queued: 1 }))
    })
  }

  specify('an ended session is told so when it only looks, and there is nothing to claim', async (world) => {
    const worker = await world.worker()
    await worker.end('lease')
    expect(await worker.exchange({})).toMatchObject({ sessionEnded: true })
    expect(await worker.take(5)).toMatchObject({ claims: [], sessionEnded: true })
  })

  specify('an ended session that hands in work and wants more gets nothing for it', async (world) => {
    const [first] = await world.enqueueMany(2)
    const worker = await world.worker()
    const claim = await worker.claimOne()
    await worker.end('lease')
    const answer = await worker.exchange({
      outcomes: [{ ...claim, startedAt: 1, outcome: { kind: 'completed', result: null } }],
      want: { able: worker.able, start: 5, ahead: 5, empty: true },
    })
    expect(answer).toMatchObject({ claims: [], refused: [first], sessionEnded: true })
    expect(await world.counts()).toEqual(counts({ queued: 2 }))
  })

  specify('a session that never was is as good as ended', async (world) => {
    await world.enqueue()
    const worker = await world.worker()
    for (const session of ['987654', 'nonsense', '']) {
      worker.session = session
      expect(await worker.take(5), session).toMatchObject({ claims: [], sessionEnded: true })
    }
  })
}
