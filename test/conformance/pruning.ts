import type { Keep, Retention } from '../../src/model/retention.ts'
import type { Change } from '../../src/store/ports/change.ts'
import type { Claimant } from './claimant.ts'
import type { Theme } from './theme.ts'
import { counts, idsOf, newTask, type World } from './world.ts'

const FOR_EVER: Keep = { ageMs: null, count: null }
const DAY_MS = 86_400_000

/** What is not named is kept. */
function retention(some: Partial<Record<keyof Retention, Partial<Keep>>>): Retention {
  const keep = (status: keyof Retention) => ({ ...FOR_EVER, ...some[status] })
  return { completed: keep('completed'), failed: keep('failed'), cancelled: keep('cancelled') }
}

const EVERYTHING = retention({ completed: { ageMs: 0 }, failed: { ageMs: 0 }, cancelled: { ageMs: 0 } })

/** Each a millisecond after the other. */
async function completed(world: World, worker: Claimant, count: number, task = {}): Promise<string[]> {
  const ids: string[] = []
  for (let n = 0; n < count; n++) {
    ids.push(await world.enqueue(task))
    await worker.complete(await worker.claimOne())
    world.clock.advance(1)
  }
  return ids
}

async function prune(world: World, keep: Retention, limit = 100): Promise<number> {
  return (await world.store.maintenance.pruneTasks(keep, { limit })).removed
}

export const pruning: Theme = (specify, expect) => {
  specify('what finished long enough ago goes, with its logs, attempts and input', async (world) => {
    const { store } = world
    const worker = await world.worker()
    const old = await world.enqueue({ input: JSON.stringify('x'.repeat(5_000)) })
    const claim = await worker.claimOne()
    await worker.log(claim, 'hello')
    await worker.fail(claim, 0)
    await worker.complete(await worker.claimOne())
    world.clock.advance(DAY_MS)
    const [young] = await completed(world, worker, 1)
    expect(await prune(world, retention({ completed: { ageMs: DAY_MS + 100 } }))).toBe(0)
    expect(await prune(world, retention({ completed: { ageMs: DAY_MS } }))).toBe(1)
    expect(await store.tasks.getTask(old)).toBe(null)
    expect(await store.tasks.taskLogs(old, { limit: 10, cursor: null })).toEqual({ items: [], next: null })
    expect(await store.tasks.taskAttempts(old)).toEqual([])
    expect((await world.task(young!)).status).toBe('completed')
    expect(await world.counts()).toEqual(counts({ completed: 1 }))
    expect(await store.maintenance.check()).toEqual([])
  })

  specify('each status has its own limits, and what has none is kept for ever', async (world) => {
    const worker = await world.worker()
    const [done] = await completed(world, worker, 1)
    const failed = await world.enqueue()
    await worker.fail(await worker.claimOne())
    const cancelled = await world.enqueue()
    await world.store.tasks.cancelTask(cancelled)
    world.clock.advance(3_650 * DAY_MS)
    expect(await prune(world, retention({}))).toBe(0)
    expect(await prune(world, retention({ completed: { ageMs: 7 * DAY_MS } }))).toBe(1)
    expect(await world.counts()).toEqual(counts({ failed: 1, cancelled: 1 }))
    expect(await prune(world, retention({ failed: { ageMs: 30 * DAY_MS } }))).toBe(1)
    expect(await prune(world, retention({ cancelled: { ageMs: 1 } }))).toBe(1)
    for (const id of [done!, failed, cancelled]) expect(await world.store.tasks.getTask(id)).toBe(null)
    expect(await world.counts()).toEqual(counts({}))
  })

  specify('of each queue the newest are kept, whatever their names', async (world) => {
    const worker = await world.worker({ queues: ['default', 'other'], names: ['job', 'chore'] })
    const first = await completed(world, worker, 3)
    const second = await completed(world, worker, 3, { name: 'chore' })
    const elsewhere = await completed(world, worker, 2, { queue: 'other', requires: null })
    const third = await completed(world, worker, 1)
    expect(await prune(world, retention({ completed: { count: 4 } }))).toBe(3)
    const kept = [...second, ...elsewhere, ...third]
    expect(idsOf(await world.list({ status: 'completed' })).sort()).toEqual(kept.sort())
    for (const id of first) expect(await world.store.tasks.getTask(id)).toBe(null)
    expect(await prune(world, retention({ completed: { count: 4 } }))).toBe(0)
    expect(await prune(world, retention({ completed: { count: 0 } }))).toBe(kept.length)
    expect(await world.counts()).toEqual(counts({}))
  })

  specify('however many lanes there are, all are looked into, some at a time', async (world) => {
    const { store } = world
    const names = Array.from({ length: 1_100 }, (_, n) => newTask({ name: `job-${n}` }))
    const ids = idsOf(await store.tasks.enqueue(names))
    const old = [ids[0]!, ids[700]!, ids[1_099]!]
    for (const id of old) await store.tasks.cancelTask(id)
    const removed: number[] = []
    let afterLane = 0
    for (let steps = 0; steps < 20; steps++) {
      const step = await store.maintenance.pruneTasks(EVERYTHING, { limit: 10, afterLane })
      removed.push(step.removed)
      afterLane = step.afterLane
      if (!step.more) break
    }
    expect(removed.filter((count) => count > 0)).toEqual([1, 1, 1])
    for (const id of old) expect(await store.tasks.getTask(id)).toBe(null)
    expect(await store.tasks.countTasks({})).toEqual(counts({ queued: 1_097 }))
  })

  specify('tasks of the keys of a limit go as any others do', async (world) => {
    const { store } = world
    for (const limitKey of ['a', 'b', 'c']) await store.tasks.cancelTask(await world.enqueue({ limitKey }))
    await world.enqueue({ limitKey: 'a' })
    expect(await prune(world, retention({ cancelled: { count: 2 } }))).toBe(1)
    expect(await prune(world, EVERYTHING)).toBe(2)
    expect(await world.counts()).toEqual(counts({ queued: 1 }))
    expect(await store.maintenance.check()).toEqual([])
  })

  specify('with an age and a count, what is past either goes', async (world) => {
    const worker = await world.worker()
    await completed(world, worker, 2)
    world.clock.advance(DAY_MS)
    const young = await completed(world, worker, 4)
    expect(await prune(world, retention({ completed: { ageMs: DAY_MS, count: 3 } }))).toBe(3)
    expect(idsOf(await world.list({ status: 'completed' })).sort()).toEqual(young.slice(1).sort())
  })

  specify('a step removes no more than it was asked to, and says whether there is more', async (world) => {
    const worker = await world.worker()
    await completed(world, worker, 7)
    const removed: number[] = []
    for (let steps = 0; steps < 10; steps++) {
      const step = await world.store.maintenance.pruneTasks(EVERYTHING, { limit: 3 })
      if (!step.more) break
      removed.push(step.removed)
      await world.counts()
    }
    expect(removed).toEqual([3, 3, 1])
    expect(await world.counts()).toEqual(counts({}))
  })

  specify('what waits or runs is never pruned, however old it is', async (world) => {
    const worker = await world.worker()
    await world.enqueueMany(3)
    await world.enqueue({ runAfter: { ms: 1_000 } })
    await worker.claim(1, 1)
    world.clock.advance(3_650 * DAY_MS)
    expect(await prune(world, retention({ completed: { ageMs: 0, count: 0 }, failed: { count: 0 } }))).toBe(0)
    expect(await world.counts()).toEqual(counts({ queued: 3, running: 1 }))
  })

  specify('a task that was retried counts from its last end', async (world) => {
    const worker = await world.worker()
    const [id] = await completed(world, worker, 1)
    world.clock.advance(DAY_MS)
    await world.store.tasks.retryTask(id!)
    expect(await prune(world, retention({ completed: { ageMs: DAY_MS } }))).toBe(0)
    await worker.complete(await worker.claimOne())
    expect(await prune(world, retention({ completed: { ageMs: DAY_MS } }))).toBe(0)
    world.clock.advance(DAY_MS)
    expect(await prune(world, retention({ completed: { ageMs: DAY_MS } }))).toBe(1)
  })

  specify('a key that was taken for ever outlives its task, and ends with remove', async (world) => {
    const { store } = world
    const worker = await world.worker()
    const keyed = { key: 'invoice 7', keyScope: 'forever' } as const
    const [id] = await completed(world, worker, 1, keyed)
    await completed(world, worker, 1, { key: 'an active one' })
    expect(await prune(world, EVERYTHING)).toBe(2)
    expect(await store.tasks.enqueue([newTask(keyed)])).toEqual([{ id, created: false }])
    expect((await store.tasks.enqueue([newTask({ key: 'an active one' })]))[0]).toMatchObject({
      created: true,
    })
    expect(await store.maintenance.check()).toEqual([])
    expect(await store.tasks.removeTask(id!)).toBe('removed')
    expect(await store.tasks.removeTask(id!)).toBe('gone')
    expect((await store.tasks.enqueue([newTask(keyed)]))[0]).toMatchObject({ created: true })
    expect(await world.counts()).toEqual(counts({ queued: 2 }))
  })

  specify('the id of a pruned task never comes back', async (world) => {
    const worker = await world.worker()
    const used = new Set<string>()
    for (let round = 0; round < 3; round++) {
      for (const id of await completed(world, worker, 3)) {
        expect(used.has(id), id).toBe(false)
        used.add(id)
      }
      await prune(world, EVERYTHING)
    }
  })

  specify('whoever waits for a pruned task hears that it is gone', async (world) => {
    const worker = await world.worker()
    const [id] = await completed(world, worker, 1)
    const heard: string[] = []
    world.store.onChange((change: Change) => {
      if (change.kind === 'ended') heard.push(...change.ids)
    })
    await prune(world, EVERYTHING)
    expect(heard).toContain(id)
    expect((await world.store.tasks.results([id!])).get(id!)?.status).toBe('gone')
  })

  specify('one process at a time prunes: another one takes over when its turn is over', async (world) => {
    const other = await world.database.open()
    const worker = await world.worker()
    await completed(world, worker, 6)
    const step = (store = world.store, held: number | null = null) =>
      store.maintenance.pruneTasks(EVERYTHING, { limit: 1, turn: { held, forMs: 1_000 } })
    const first = await step()
    expect(first.removed).toBe(1)
    expect(await step(other)).toMatchObject({ removed: 0, more: false, turn: null })
    world.clock.advance(999)
    const second = await step(world.store, first.turn)
    expect(second.removed).toBe(1)
    world.clock.advance(999)
    expect((await step(other)).removed).toBe(0)
    world.clock.advance(1)
    const third = await step(other)
    expect(third.removed).toBe(1)
    expect((await step(world.store, second.turn)).removed).toBe(0)
    // Who was asked to do it now does not wait for anybody.
    expect((await world.store.maintenance.pruneTasks(EVERYTHING, { limit: 1 })).removed).toBe(1)
  })

  specify('a turn that a clock far ahead took does not stop the others', async (world) => {
    const worker = await world.worker()
    await completed(world, worker, 2)
    world.clock.advance(DAY_MS)
    const turn = { held: null, forMs: 1_000 }
    expect((await world.store.maintenance.pruneTasks(EVERYTHING, { limit: 1, turn })).removed).toBe(1)
    world.clock.advance(1 - DAY_MS)
    const other = await world.database.open()
    expect((await other.maintenance.pruneTasks(EVERYTHING, { limit: 1, turn })).removed).toBe(1)
  })

  specify('thousands are pruned in few steps, and the counts stay exact', async (world) => {
    const worker = await world.worker()
    await world.enqueueMany(1_500)
    await worker.completeAll(await worker.claim(1_400))
    expect(await prune(world, EVERYTHING, 1_000)).toBe(1_000)
    expect(await prune(world, EVERYTHING, 1_000)).toBe(400)
    expect(await world.store.tasks.countTasks({})).toEqual(counts({ queued: 100 }))
    expect(await world.store.maintenance.check()).toEqual([])
  })
}
