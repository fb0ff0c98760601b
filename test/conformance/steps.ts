import type { ClaimProof } from '../../src/store/ports/exchange.ts'
import type { NewStep } from '../../src/store/ports/steps.ts'
import { DONE, rowWorker, withFiles } from './row-worker.ts'
import type { Theme } from './theme.ts'
import type { World } from './world.ts'

/** A step that this claim keeps. */
function step({ id, fence }: ClaimProof, some: Partial<NewStep> = {}): NewStep {
  return {
    claim: { id, fence },
    name: 'charge',
    number: 1,
    kind: 'result',
    value: '"paid"',
    attempt: 1,
    startedAt: 0,
    ...some,
  }
}

async function keep(world: World, session: string, kept: NewStep): Promise<boolean> {
  return (await world.store.steps.keepSteps(session, [kept], 'promised')).length === 0
}

async function valuesOf(world: World, item: string): Promise<(string | null)[]> {
  return (await world.store.steps.stepsOf(item)).map(({ value }) => value)
}

export const steps: Theme = (specify, expect) => {
  specify('a step that was kept is there for the next attempt', async (world) => {
    const id = await world.enqueue()
    const worker = await world.worker()
    const claim = await worker.claimOne()
    expect(await keep(world, worker.session, step(claim, { startedAt: 5 }))).toBe(true)
    await worker.fail(claim, 0)
    const next = await (await world.worker({ worker: 'worker:next:0' })).claimOne()
    expect(next.id).toBe(id)
    const opened = await world.store.steps.openSteps(worker.session, claim)
    expect(opened?.steps).toMatchObject([
      { name: 'charge', number: 1, kind: 'result', value: '"paid"', attempt: 1, startedAt: 5, until: null },
    ])
  })

  specify(
    'steps of one name have numbers, and a step that is kept again takes the place of the last one',
    async (world) => {
      await world.enqueue()
      const worker = await world.worker()
      const claim = await worker.claimOne()
      for (const number of [1, 2])
        await keep(world, worker.session, step(claim, { number, kind: 'cursor', value: '1' }))
      await keep(world, worker.session, step(claim, { number: 2, kind: 'result', value: null }))
      expect(await world.store.steps.stepsOf(claim.id)).toMatchObject([
        { number: 1, kind: 'cursor', value: '1' },
        { number: 2, kind: 'result', value: null },
      ])
    },
  )

  specify('a worker that lost its claim keeps no step', async (world) => {
    await world.enqueue()
    const late = await world.worker()
    const claim = await late.claimOne()
    await late.end('lease')
    const heir = await world.worker({ worker: 'worker:heir:0' })
    const held = await heir.claimOne()
    expect(await keep(world, late.session, step(claim))).toBe(false)
    // Neither with the right fence under an ended session, nor with an old one under a live session.
    expect(await keep(world, late.session, step(held))).toBe(false)
    expect(await keep(world, heir.session, step(claim))).toBe(false)
    expect(await valuesOf(world, claim.id)).toEqual([])
    expect(await keep(world, heir.session, step(held))).toBe(true)
  })

  specify('steps of one call are kept or refused each by itself', async (world) => {
    await world.enqueueMany(2)
    const worker = await world.worker()
    const [ours, done] = await worker.claim(2)
    await worker.complete(done!)
    const lost = await world.store.steps.keepSteps(worker.session, [step(done!), step(ours!)], 'cheap')
    expect(lost).toEqual([done!.id])
    expect(await valuesOf(world, ours!.id)).toEqual(['"paid"'])
  })

  specify(
    "an atomic step and its effects are one commit, and a late worker's effects are never called",
    async (world) => {
      const { store, database } = world
      await world.enqueue()
      const worker = await world.worker()
      const claim = await worker.claimOne()
      const kept = await store.steps.keepStepWith(worker.session, step(claim), {
        effects: (tx) => database.notes.write(tx, 'a'),
        value: () => '"booked"',
      })
      expect(kept).toBe(true)
      expect(await database.notes.all()).toEqual(['a'])
      expect(await valuesOf(world, claim.id)).toEqual(['"booked"'])

      const mistake = new Error('the function is wrong')
      const failing = store.steps.keepStepWith(worker.session, step(claim, { name: 'next' }), {
        effects: () => {
          throw mistake
        },
        value: () => null,
      })
      await expect(failing).rejects.toBe(mistake)
      const unstorable = store.steps.keepStepWith(worker.session, step(claim, { name: 'next' }), {
        effects: (tx) => database.notes.write(tx, 'c'),
        value: () => {
          throw mistake
        },
      })
      await expect(unstorable).rejects.toBe(mistake)
      expect(await database.notes.all()).toEqual(['a'])
      expect(await valuesOf(world, claim.id)).toEqual(['"booked"'])

      await worker.end('lease')
      let called = false
      const late = await store.steps.keepStepWith(worker.session, step(claim, { name: 'late' }), {
        effects: () => {
          called = true
        },
        value: () => null,
      })
      expect([late, called]).toEqual([false, false])
    },
  )

  specify("a sleep knows its end by the store's clock", async (world) => {
    await world.enqueue()
    const worker = await world.worker()
    const claim = await worker.claimOne()
    await keep(world, worker.session, step(claim, { kind: 'sleep', value: null, forMs: 60_000 }))
    const until = world.clock.now() + 60_000
    world.clock.advance(20_000)
    const opened = await world.store.steps.openSteps(worker.session, claim)
    expect(opened).toMatchObject({ now: world.clock.now(), steps: [{ kind: 'sleep', until }] })
  })

  specify(
    'a failed task that is retried by hand keeps its steps, and a completed one begins anew',
    async (world) => {
      const [failed, completed] = await world.enqueueMany(2)
      const worker = await world.worker()
      const [one, other] = await worker.claim(2)
      for (const claim of [one!, other!]) await keep(world, worker.session, step(claim))
      await worker.fail(one!)
      await worker.complete(other!)
      for (const id of [failed!, completed!]) expect(await world.store.tasks.retryTask(id)).toBe('retried')
      expect(await valuesOf(world, failed!)).toEqual(['"paid"'])
      expect(await valuesOf(world, completed!)).toEqual([])
    },
  )

  specify('steps go with their task', async (world) => {
    const [removed, pruned] = await world.enqueueMany(2)
    const worker = await world.worker()
    for (const claim of await worker.claim(2)) {
      await keep(world, worker.session, step(claim))
      await worker.complete(claim)
    }
    await world.store.tasks.removeTask(removed!)
    expect(await valuesOf(world, removed!)).toEqual([])
    expect(await valuesOf(world, pruned!)).toEqual(['"paid"'])
    world.clock.advance(1_000)
    const all = { ageMs: 0, count: null }
    await world.store.maintenance.pruneTasks({ completed: all, failed: all, cancelled: all }, { limit: 100 })
    expect(await valuesOf(world, pruned!)).toEqual([])
  })
}

export const rowSteps: Theme = (specify, expect) => {
  specify('steps of a row are there for the next attempt, as long as the row is as it was', async (world) => {
    await withFiles(world, 1)
    const worker = await rowWorker(world)
    const first = await worker.claimOne()
    expect(await keep(world, worker.session, step(first))).toBe(true)
    await worker.fail(first, 0)
    const second = await worker.claimOne()
    expect((await world.store.steps.openSteps(worker.session, second))?.steps).toMatchObject([
      { name: 'charge' },
    ])
    await worker.fail(second, 0)
    await world.database.tables.run(`UPDATE files SET path = 'edited'`)
    const third = await worker.claimOne()
    expect((await world.store.steps.openSteps(worker.session, third))?.steps).toEqual([])
    expect(await valuesOf(world, third.id)).toEqual([])
  })

  specify('completing a row with its steps removes them', async (world) => {
    await withFiles(world, 1, { version: 'edited' })
    const worker = await rowWorker(world)
    const claim = await worker.claimOne()
    await keep(world, worker.session, step(claim))
    expect(await worker.completeWith(claim, () => {}, DONE)).toMatchObject({ kind: 'done' })
    expect(await valuesOf(world, claim.id)).toEqual([])
    // The column that tells versions apart has not changed, and yet it is another time.
    await world.database.tables.run('UPDATE files SET needs = 1')
    const again = await worker.claimOne()
    expect((await world.store.steps.openSteps(worker.session, again))?.steps).toEqual([])
  })

  specify('a worker that lost its row keeps no step of it', async (world) => {
    await withFiles(world, 1)
    const late = await rowWorker(world)
    const claim = await late.claimOne()
    await world.store.sessions.endSession(late.session, 'lease')
    expect(await keep(world, late.session, step(claim))).toBe(false)
    expect(await world.store.steps.openSteps(late.session, claim)).toBe(null)
    expect(await valuesOf(world, claim.id)).toEqual([])
  })
}
