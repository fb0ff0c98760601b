import { identifySelf } from '../../src/process-identity.ts'
import type { Claimant } from './claimant.ts'
import type { Theme } from './theme.ts'
import { counts, idsOf, type World } from './world.ts'

export const crashes: Theme = (specify, expect) => {
  specify(
    'a crash ends all sessions of the process, and what they held is judged together',
    async (world) => {
      await world.enqueueMany(2)
      const process = { ...identifySelf(), startTime: 'shared' }
      const [one, another] = [await world.worker({ process }), await world.worker({ process })]
      const held = [await one.claimOne(), await another.claimOne()]
      const elsewhere = await world.worker()
      expect(await one.end('crash')).toMatchObject({ returned: 2, blamed: null })
      expect(await world.store.sessions.endSession(another.session, 'crash')).toBe(null)
      for (const { id } of held) expect(await world.task(id)).toMatchObject({ crashes: 0, attempts: 0 })
      expect(await world.store.sessions.liveSessions()).toMatchObject([{ id: elsewhere.session }])
    },
  )

  specify(
    'a crash charges the only item of the process, whichever of its sessions held it',
    async (world) => {
      const id = await world.enqueue()
      const process = { ...identifySelf(), startTime: 'shared' }
      const [idle, busy] = [await world.worker({ process }), await world.worker({ process })]
      await busy.claimOne()
      expect(await idle.end('crash')).toMatchObject({ returned: 1, blamed: id })
      expect(await world.task(id)).toMatchObject({ crashes: 1 })
    },
  )

  specify('a crash is charged to the one task that was running', async (world) => {
    const id = await world.enqueue()
    const worker = await world.worker()
    await worker.claimOne()
    expect(await worker.end('crash')).toEqual({ returned: 1, blamed: id, workerBroken: false })
    expect(await world.task(id)).toMatchObject({
      status: 'queued',
      crashes: 1,
      attempts: 1,
      error: { kind: 'crash' },
    })
    expect(await world.counts()).toEqual(counts({ queued: 1 }))
  })

  specify(
    'a worker that would rather show on another item that it is broken is not given the same',
    async (world) => {
      const ids = await world.enqueueMany(3)
      const worker = await world.worker()
      const takeOne = (avoid: string[]) =>
        worker.exchange({ want: { able: worker.able, start: 1, ahead: 0, empty: true, avoid } })
      const row: string[] = []
      for (const id of ids) {
        expect(idsOf((await takeOne(row)).claims)).toEqual([id])
        row.push(id)
        await worker.end('crash')
        await worker.begin()
      }
      // All have been charged: there is nothing else.
      expect((await takeOne(row)).claims).toEqual([])
      expect(idsOf((await takeOne(row.slice(1))).claims)).toEqual([ids[0]])
    },
  )

  specify('a task that was never started goes back uncharged after a crash', async (world) => {
    const id = await world.enqueue({ maxAttempts: 1 })
    const worker = await world.worker()
    await worker.claim(0, 1)
    expect(await worker.end('crash')).toEqual({ returned: 1, blamed: null, workerBroken: false })
    expect(await world.task(id)).toMatchObject({ status: 'queued', crashes: 0, attempts: 0, error: null })
    expect(await (await world.worker()).claimOne()).toMatchObject({ id, suspect: false })
  })

  specify(
    'when several were running nobody is charged, and all are suspects that keep their attempt',
    async (world) => {
      const ids = await world.enqueueMany(3, { maxAttempts: 1 })
      const worker = await world.worker()
      await worker.claim(3)
      expect(await worker.end('crash')).toEqual({ returned: 3, blamed: null, workerBroken: false })
      for (const id of ids) {
        expect(await world.task(id)).toMatchObject({ status: 'queued', crashes: 0, attempts: 0 })
      }
      expect(await world.counts()).toEqual(counts({ queued: 3 }))
    },
  )

  specify('a suspect is claimed alone, by a worker that holds nothing', async (world) => {
    const suspects = await withSuspects(world, 2)
    const [plain] = await world.enqueueMany(1, { priority: 1 })
    const worker = await world.worker()
    const first = await worker.claim(10, 10)
    expect(first).toMatchObject([{ id: suspects[0], suspect: true, started: true }])
    await worker.complete(first[0]!)
    const second = await worker.claim(10, 10)
    expect(second).toMatchObject([{ id: suspects[1], suspect: true }])
    await worker.complete(second[0]!)
    expect(idsOf(await worker.claim(10))).toEqual([plain])
  })

  specify(
    'a suspect blocks nobody else: a worker that holds something passes it, and is told of it',
    async (world) => {
      const busy = await world.worker({ worker: 'worker:busy:0' })
      await world.enqueue()
      await busy.claimOne()
      await withSuspects(world, 2)
      const plain = await world.enqueueMany(2)
      const answer = await busy.take(10)
      expect(idsOf(answer.claims)).toEqual(plain)
      expect(answer.suspectsWaiting).toBe(true)
      expect(await busy.take(10)).toMatchObject({ claims: [], suspectsWaiting: true })
    },
  )

  specify('no suspect waits for a worker that could not run it', async (world) => {
    await withSuspects(world, 2)
    const other = await world.worker({ names: ['other'] })
    await world.enqueueMany(2, { name: 'other' })
    await other.claimOne()
    expect(await other.take(10)).toMatchObject({ suspectsWaiting: false })
  })

  specify('a suspect that ends without harm is suspected no longer', async (world) => {
    const [first] = await withSuspects(world, 2)
    const worker = await world.worker()
    const claim = await worker.claimOne()
    expect(claim).toMatchObject({ id: first, suspect: true })
    await worker.fail(claim, 0)
    await worker.complete(await worker.claimOne())
    expect(await worker.claimOne()).toMatchObject({ id: first, suspect: false })
  })

  specify('a suspect that is handed back unrun is still one', async (world) => {
    const [first] = await withSuspects(world, 2)
    const worker = await world.worker()
    await worker.giveBack(await worker.claimOne())
    expect(await worker.claimOne()).toMatchObject({ id: first, suspect: true })
  })

  specify('a task that took its worker down is claimed alone next', async (world) => {
    const id = await world.enqueue()
    const worker = await world.worker()
    await crashOn(worker, id)
    await world.enqueueMany(3, { priority: 1 })
    expect(await worker.claim(10)).toMatchObject([{ id, suspect: true, attempt: 2 }])
  })

  specify('the third crash puts a task aside: failed, with the reason crash', async (world) => {
    const id = await world.enqueue({ maxAttempts: 10 })
    const worker = await world.worker()
    await crashOn(worker, id)
    await crashOn(worker, id)
    await worker.claimOne()
    expect(await worker.end('crash')).toEqual({ returned: 0, blamed: id, workerBroken: false })
    expect(await world.task(id)).toMatchObject({
      status: 'failed',
      crashes: 3,
      attempts: 3,
      error: { kind: 'crash' },
    })
    expect(await world.counts()).toEqual(counts({ failed: 1 }))
    expect(await (await world.worker()).claim(5)).toEqual([])
  })

  specify('a crash in the last attempt is the end, too', async (world) => {
    const id = await world.enqueue({ maxAttempts: 1 })
    const worker = await world.worker()
    await worker.claimOne()
    await world.store.sessions.endSession(worker.session, 'crash', { signature: 'SIGKILL, pid 7' })
    const message = 'the worker died while running it (1 of 3 crashes): SIGKILL, pid 7'
    expect(await world.task(id)).toMatchObject({
      status: 'failed',
      crashes: 1,
      error: { kind: 'crash', message },
    })
  })

  specify('a quarantined task that is retried by hand starts anew, and alone', async (world) => {
    const id = await world.enqueue({ maxAttempts: 10 })
    const worker = await world.worker()
    for (let crash = 0; crash < 3; crash++) await crashOn(worker, id)
    expect(await world.store.tasks.retryTask(id)).toBe('retried')
    expect(await world.task(id)).toMatchObject({ status: 'queued', crashes: 0, attempts: 0, error: null })
    expect(await worker.claim(5)).toMatchObject([{ id, suspect: true, attempt: 1 }])
  })

  specify(
    'a worker that crashes on five different tasks in a row is broken, and nobody is charged',
    async (world) => {
      const ids = await world.enqueueMany(5, { maxAttempts: 2 })
      const worker = await world.worker()
      for (const id of ids.slice(0, 4)) {
        expect(await crashOn(worker, id)).toEqual({ returned: 1, blamed: id, workerBroken: false })
      }
      expect(await crashOn(worker, ids[4]!)).toEqual({ returned: 1, blamed: null, workerBroken: true })
      for (const id of ids) {
        expect(await world.task(id)).toMatchObject({ status: 'queued', crashes: 0, attempts: 0 })
      }
      expect(await world.counts()).toEqual(counts({ queued: 5 }))
    },
  )

  specify('a task in other hands is not charged for a broken worker either', async (world) => {
    const ids = await world.enqueueMany(5, { maxAttempts: 3 })
    const worker = await world.worker()
    for (const id of ids.slice(0, 4)) await crashOn(worker, id)
    // The first of those it was charged to is being run by somebody else when the verdict falls.
    const heir = await world.worker({ worker: 'worker:heir:0' })
    const inherited = await heir.claimOne()
    expect(inherited.id).toBe(ids[0])
    expect(await crashOn(worker, ids[4]!)).toMatchObject({ workerBroken: true })
    await heir.fail(inherited, 0)
    expect(await world.task(ids[0]!)).toMatchObject({ crashes: 0, attempts: 1 })
  })

  specify('crashes on five tasks of which two are the same do not make a worker broken', async (world) => {
    const ids = await world.enqueueMany(4)
    const worker = await world.worker()
    for (const id of ids) await crashOn(worker, id)
    expect(await crashOn(worker, ids[0]!)).toMatchObject({ blamed: ids[0], workerBroken: false })
  })

  specify('a worker that completed something in between is not broken', async (world) => {
    const ids = await world.enqueueMany(5)
    const good = await world.enqueue({ name: 'good' })
    const worker = await world.worker({ names: ['job', 'good'] })
    for (const id of ids.slice(0, 4)) await crashOn(worker, id)
    const claim = await takeOnly(worker, good)
    await worker.complete(claim)
    expect(await crashOn(worker, ids[4]!)).toMatchObject({ blamed: ids[4], workerBroken: false })
  })

  specify('a worker that was stopped in between is not broken', async (world) => {
    const ids = await world.enqueueMany(5)
    const worker = await world.worker()
    for (const id of ids.slice(0, 4)) await crashOn(worker, id)
    await worker.end('stop')
    await worker.begin()
    expect(await crashOn(worker, ids[4]!)).toMatchObject({ blamed: ids[4], workerBroken: false })
  })

  specify('crashes of several workers are not added up', async (world) => {
    const ids = await world.enqueueMany(5)
    for (const [n, id] of ids.entries()) {
      const worker = await world.worker({ worker: `worker:pool:${n}` })
      expect(await crashOn(worker, id)).toMatchObject({ blamed: id, workerBroken: false })
    }
  })
}

/** Takes this task alone, whatever else waits, crashes, and begins a new life. */
async function crashOn(worker: Claimant, id: string) {
  await takeOnly(worker, id)
  const end = await worker.end('crash')
  await worker.begin()
  return end
}

/** What is claimed before it, or with it, is handed back at once. */
async function takeOnly(worker: Claimant, id: string) {
  const others = []
  for (let round = 0; round < 100; round++) {
    const [claim] = await worker.claim(1)
    if (claim === undefined) break
    if (claim.id === id) {
      for (const other of others) await worker.giveBack(other)
      return claim
    }
    others.push(claim)
  }
  throw new Error(`task ${id} is not to be had`)
}

/** Tasks that were in a worker's hands together when it crashed. */
async function withSuspects(world: World, count: number): Promise<string[]> {
  const ids = await world.enqueueMany(count)
  const worker = await world.worker({ worker: 'worker:crashing:0' })
  await worker.claim(count)
  await worker.end('crash')
  return ids
}
