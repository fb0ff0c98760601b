import type { Outcome } from '../../src/model/outcome.ts'
import type { Claim } from '../../src/store/ports/exchange.ts'
import { seeded } from './draws.ts'
import type { Theme } from './theme.ts'
import { idsOf, type World } from './world.ts'

const A = { orderKey: 'a' }
const B = { orderKey: 'b' }
const DONE: Outcome = { kind: 'completed', result: null }

/** Nothing must be wrong after any of these. */
async function expectSound(world: World, expect: Parameters<Theme>[1]): Promise<void> {
  expect(await world.store.maintenance.check()).toEqual([])
}

export const orderKeys: Theme = (specify, expect) => {
  specify(
    'tasks of one key run one at a time in the order of enqueue, whatever their priority',
    async (world) => {
      const first = await world.enqueue({ ...A, priority: 900 })
      const [second, third] = await world.enqueueMany(2, { ...A, priority: 1 })
      const last = await world.enqueue({ ...A, priority: 500, queue: 'other', requires: { gpu: true } })
      const worker = await world.worker({ queues: ['default', 'other'], capabilities: { gpu: true } })
      for (const id of [first, second, third, last]) {
        const claims = await worker.claim(9)
        expect(idsOf(claims)).toEqual([id])
        expect(await worker.claim(9)).toEqual([])
        await worker.completeAll(claims)
      }
      await expectSound(world, expect)
    },
  )

  specify('other keys, and tasks without a key, go on', async (world) => {
    const [a1, a2] = await world.enqueueMany(2, A)
    const [b1, b2] = await world.enqueueMany(2, B)
    const plain = await world.enqueueMany(2)
    const sameKeyOfAnother = await world.enqueue({ ...A, name: 'other' })
    const worker = await world.worker({ names: ['job', 'other'] })
    const claims = await worker.claim(9)
    expect(idsOf(claims).sort()).toEqual([a1, b1, ...plain, sameKeyOfAnother].sort())
    expect((await world.counts({})).queued).toBe(2)
    await worker.completeAll(claims)
    expect(idsOf(await worker.claim(9))).toEqual([a2, b2])
    await expectSound(world, expect)
  })

  specify('a task that backs off holds its key, also while it is due and not claimed', async (world) => {
    const [first, second] = await world.enqueueMany(2, A)
    const worker = await world.worker()
    await worker.fail(await worker.claimOne(), 100)
    expect(await worker.claim(9)).toEqual([])
    world.clock.advance(100)
    const again = await worker.claim(9)
    expect(idsOf(again)).toEqual([first])
    await worker.completeAll(again)
    expect(idsOf(await worker.claim(9))).toEqual([second])
    await expectSound(world, expect)
  })

  specify('a scheduled task holds its key: no later task overtakes it', async (world) => {
    const first = await world.enqueue({ ...A, runAfter: { ms: 100 } })
    const second = await world.enqueue(A)
    const third = await world.enqueue({ ...A, runAfter: { ms: 50 } })
    const worker = await world.worker()
    world.clock.advance(60)
    expect(await worker.claim(9)).toEqual([])
    expect((await world.counts({})).queued).toBe(2)
    world.clock.advance(40)
    for (const id of [first, second, third]) {
      const claims = await worker.claim(9)
      expect(idsOf(claims)).toEqual([id])
      await worker.completeAll(claims)
    }
    await expectSound(world, expect)
  })

  specify('a suspended task holds its key until its signal', async (world) => {
    const [first, second] = await world.enqueueMany(2, A)
    const worker = await world.worker()
    const claim = await worker.claimOne()
    const waits = [{ kind: 'signal', name: 'go', number: 1, until: null }] as const
    await worker.settle(claim, { kind: 'waits', waits, afterMs: null })
    expect((await world.task(first!)).status).toBe('suspended')
    expect(await worker.claim(9)).toEqual([])
    await world.store.tasks.cancelTask(first!)
    expect(idsOf(await worker.claim(9))).toEqual([second])
    await expectSound(world, expect)
  })

  specify(
    'a task that is suspended from the start holds its place, and waits for its turn when it is resumed',
    async (world) => {
      const first = await world.enqueue(A)
      const second = await world.enqueue({ ...A, suspended: true, flow: 999 })
      const third = await world.enqueue(A)
      const worker = await world.worker()
      const claim = await worker.claimOne()
      expect(claim.id).toBe(first)
      await worker.complete(claim)
      expect(await worker.claim(9)).toEqual([])
      await world.store.tasks.cancelTask(second)
      expect(idsOf(await worker.claim(9))).toEqual([third])
    },
  )

  specify('a final failure, a cancel and a removal free the key', async (world) => {
    const ids = await world.enqueueMany(6, A)
    const worker = await world.worker()
    await worker.fail(await worker.claimOne())
    const second = await worker.claimOne()
    expect(second.id).toBe(ids[1])
    // Behind: the key is not free, and the order of the others stays.
    expect(await world.store.tasks.cancelTask(ids[2]!)).toBe('cancelled')
    expect(await world.store.tasks.removeTask(ids[3]!)).toBe('removed')
    expect(await worker.claim(9)).toEqual([])
    await world.store.tasks.cancelTask(second.id)
    await worker.settle(second, { kind: 'cancelled' } as Outcome)
    expect((await worker.claimOne()).id).toBe(ids[4])
    await worker.end('crash')
    const next = await world.worker({ worker: 'worker:test:1' })
    // It crashed: it runs again before the last one.
    const claims = await next.claim(9)
    expect(idsOf(claims)).toEqual([ids[4]])
    await next.giveBack(claims[0]!)
    expect(await world.store.tasks.removeTask(ids[4]!)).toBe('removed')
    expect(idsOf(await next.claim(9))).toEqual([ids[5]])
    await expectSound(world, expect)
  })

  specify('bulk changes keep the order of what is left', async (world) => {
    const ids = await world.enqueueMany(4, A)
    await world.enqueue({ ...A, requires: { region: 'eu' } })
    const page = { limit: 10, cursor: null }
    const filter = { status: 'queued', requires: { region: 'eu' } } as const
    await world.store.tasks.changeTasks({ change: 'cancel', filter, page, upTo: null, dryRun: null })
    const worker = await world.worker()
    const first = await worker.claimOne()
    expect(first.id).toBe(ids[0])
    const rest = { status: 'queued' } as const
    await world.store.tasks.changeTasks({ change: 'remove', filter: rest, page, upTo: null, dryRun: null })
    await worker.complete(first)
    expect(await worker.claim(9)).toEqual([])
    expect((await world.counts({})).queued).toBe(0)
    await expectSound(world, expect)
  })

  specify('a worker that stops, crashes or loses its lease keeps the order', async (world) => {
    const [first] = await world.enqueueMany(3, A)
    for (const [i, cause] of (['stop', 'lease', 'crash'] as const).entries()) {
      const worker = await world.worker({ worker: `worker:test:${i}` })
      expect((await worker.claimOne()).id).toBe(first)
      await worker.end(cause)
      await expectSound(world, expect)
    }
    const worker = await world.worker({ worker: 'worker:test:9' })
    expect(idsOf(await worker.claim(9))).toEqual([first])
  })

  specify('a task that is retried by hand takes its place in the order of enqueue again', async (world) => {
    const [first, second, third] = await world.enqueueMany(3, A)
    const worker = await world.worker()
    await worker.fail(await worker.claimOne())
    const running = await worker.claimOne()
    expect(running.id).toBe(second)
    expect(await world.store.tasks.retryTask(first!)).toBe('retried')
    // It waits for the one that runs, and goes before the others.
    expect(await worker.claim(9)).toEqual([])
    await worker.complete(running)
    const again = await worker.claim(9)
    expect(idsOf(again)).toEqual([first])
    await worker.completeAll(again)
    const last = await worker.claim(9)
    expect(idsOf(last)).toEqual([third])
    await worker.completeAll(last)
    // The key is free: it runs at once.
    expect(await world.store.tasks.retryTask(first!)).toBe('retried')
    expect(idsOf(await worker.claim(9))).toEqual([first])
    await expectSound(world, expect)
  })

  specify('explain names the task that it waits for', async (world) => {
    const [first, second, third] = await world.enqueueMany(3, A)
    const worker = await world.worker()
    await worker.claimOne()
    expect((await world.store.tasks.circumstancesOf(second!))?.inOrder).toEqual({
      key: 'a',
      leader: first,
      before: 0,
    })
    expect((await world.store.tasks.circumstancesOf(third!))?.inOrder).toEqual({
      key: 'a',
      leader: first,
      before: 1,
    })
    expect((await world.store.tasks.circumstancesOf(first!))?.inOrder).toBe(null)
  })

  specify('limits hold, too: of the queue and of limit keys', async (world) => {
    await world.store.admin.planLimits([
      { queue: 'default', limit: { concurrency: 2, rate: null } },
      { task: 'keyed', limit: { concurrency: 1, rate: null } },
    ])
    const names = { names: ['job', 'keyed'] }
    await world.enqueueMany(2, A)
    await world.enqueueMany(2, B)
    const keyed = await world.enqueueMany(3, { name: 'keyed', limitKey: 'l', orderKey: 'k' })
    const worker = await world.worker(names)
    const order: string[] = []
    for (let round = 0; round < 40 && order.length < 7; round++) {
      const claims = await worker.claim(9)
      expect(claims.length <= 2).toBe(true)
      order.push(...idsOf(claims))
      await worker.completeAll(claims)
      world.clock.advance(10)
    }
    expect(order.filter((id) => keyed.includes(id))).toEqual(keyed)
    expect(order).toHaveLength(7)
    await expectSound(world, expect)
  })

  specify(
    'strategies: each takes the first of a key, also after the order of the queue changed',
    async (world) => {
      const ids = await world.enqueueMany(3, A)
      for (const [i, strategy] of (['lifo', 'weighted', 'priority'] as const).entries()) {
        await world.store.admin.configureQueues([{ name: 'default', ordering: { strategy, ageingMs: null } }])
        for (let step = 0; step < 5 && (await world.store.maintenance.rerank()); step++);
        const worker = await world.worker({ worker: `worker:test:${i}` })
        const claims = await worker.claim(9)
        expect(idsOf(claims)).toEqual([ids[i]])
        await worker.completeAll(claims)
      }
      await expectSound(world, expect)
    },
  )

  specify('what completes with effects of its own frees its key', async (world) => {
    const [, second] = await world.enqueueMany(2, A)
    const worker = await world.worker()
    expect(await worker.completeWith(await worker.claimOne(), () => undefined)).toBe(true)
    expect(idsOf(await worker.claim(9))).toEqual([second])
  })

  specify('two workers of two processes never run two tasks of a key, and keep its order', async (world) => {
    const keys = ['a', 'b', 'c']
    const expected = new Map(keys.map((key) => [key, [] as string[]]))
    for (let i = 0; i < 60; i++) {
      const orderKey = keys[i % keys.length]!
      expected.get(orderKey)!.push(await world.enqueue({ orderKey, priority: 1 + ((i * 7) % 90) }))
    }
    const keyOf = new Map([...expected].flatMap(([key, ids]) => ids.map((id) => [id, key])))
    const other = await world.database.open()
    const workers = await Promise.all(
      [world.store, other, world.store].map((store, i) =>
        world.worker({ worker: `worker:test:${i}` }, store),
      ),
    )
    const running = new Map<string, string>()
    const order = new Map(keys.map((key) => [key, [] as string[]]))
    const work = async (worker: (typeof workers)[number]) => {
      let last: Claim[] = []
      for (let round = 0; round < 300; round++) {
        const startedAt = world.clock.now()
        for (const { id } of last) running.delete(keyOf.get(id)!)
        const outcomes = last.map(({ id, fence }) => ({ id, fence, startedAt, outcome: DONE }))
        const want = { able: worker.able, start: 2, ahead: 0, empty: last.length === 0 }
        last = (await worker.exchange({ outcomes, want })).claims
        for (const { id } of last) {
          const key = keyOf.get(id)!
          expect(running.get(key)).toBe(undefined)
          running.set(key, id)
          order.get(key)!.push(id)
        }
        if ([...order.values()].every(({ length }) => length === 20) && last.length === 0) return
      }
    }
    await Promise.all(workers.map(work))
    for (const key of keys) expect(order.get(key)).toEqual(expected.get(key))
    await expectSound(world, expect)
  })

  specify('whatever happens, each key does what a list in memory would do', async (world) => {
    const random = seeded(25)
    const pick = <T>(from: readonly T[]) => from[Math.floor(random() * from.length)]!
    const worker = await world.worker()
    // On PostgreSQL a claim, of whichever worker, decides which task leads.
    const idle = await world.worker({ worker: 'worker:test:1', queues: ['nothing'] })
    /** The unfinished tasks of each key in order; the first may run. */
    const model = new Map<string, { id: string; dueAt: number }[]>(
      ['a', 'b', 'c', 'd'].map((key) => [key, []]),
    )
    const finished: { id: string; key: string }[] = []
    let held: Claim[] = []
    const keyOf = (id: string) =>
      [...model.keys()].find((key) => model.get(key)!.some((one) => one.id === id))!
    const finish = (id: string) => {
      const key = keyOf(id)
      model.set(
        key,
        model.get(key)!.filter((one) => one.id !== id),
      )
      finished.push({ id, key })
    }
    for (let step = 0; step < 220; step++) {
      const key = pick([...model.keys()])
      const tasks = model.get(key)!
      const act = random()
      if (act < 0.3) {
        const delay = random() < 0.2 ? Math.ceil(random() * 30) : null
        const id = await world.enqueue({
          orderKey: key,
          priority: Math.ceil(random() * 1000),
          runAfter: delay === null ? null : { ms: delay },
        })
        tasks.push({ id, dueAt: delay === null ? 0 : world.clock.now() + delay })
      } else if (act < 0.6) {
        const due = [...model.values()].flatMap(([first]) =>
          first !== undefined && first.dueAt <= world.clock.now() && !held.some(({ id }) => id === first.id)
            ? [first.id]
            : [],
        )
        const claims = await worker.claim(9)
        expect(idsOf(claims).sort()).toEqual(due.sort())
        held.push(...claims)
      } else if (act < 0.85 && held.length > 0) {
        const claim = pick(held)
        held = held.filter((one) => one !== claim)
        const end = random()
        if (end < 0.5) {
          await worker.complete(claim)
          finish(claim.id)
        } else if (end < 0.65) {
          await worker.fail(claim)
          finish(claim.id)
        } else if (end < 0.8 && claim.attempt < 3) {
          await worker.fail(claim, 20)
          model.get(keyOf(claim.id))![0]!.dueAt = world.clock.now() + 20
        } else await worker.giveBack(claim)
      } else if (act < 0.9 && tasks.length > 0) {
        const { id } = pick(tasks)
        if (held.some((one) => one.id === id)) continue
        if (random() < 0.5) {
          await world.store.tasks.cancelTask(id)
          finish(id)
        } else {
          await world.store.tasks.removeTask(id)
          model.set(
            key,
            tasks.filter((one) => one.id !== id),
          )
        }
      } else if (act < 0.95 && finished.length > 0) {
        const again = finished.splice(Math.floor(random() * finished.length), 1)[0]!
        await idle.claim(1)
        expect(await world.store.tasks.retryTask(again.id)).toBe('retried')
        // Behind the one that leads, and in the order of enqueue before the others.
        const [leads, ...others] = model.get(again.key)!
        const rest = [...others, { id: again.id, dueAt: 0 }].sort((a, b) => Number(a.id) - Number(b.id))
        model.set(again.key, leads === undefined ? rest : [leads, ...rest])
      } else world.clock.advance(Math.ceil(random() * 15))
    }
    await expectSound(world, expect)
    await world.counts({})
  })
}
