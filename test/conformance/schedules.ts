import type { Firing } from '../../src/model/schedule.ts'
import type { Store } from '../../src/store/ports/store.ts'
import type { Theme } from './theme.ts'
import { counts, newTask, type World } from './world.ts'

const SECOND = 1_000
const task = newTask()
export const everyTenSeconds = { name: 'job', every: '10s', timezone: null }

/** On a full ten seconds, with a schedule that is due ten seconds later. */
export async function planned({ store, clock }: World): Promise<number> {
  clock.advance(10 * SECOND - (clock.now() % (10 * SECOND)))
  await store.admin.planSchedules([everyTenSeconds])
  return clock.now()
}

/** What is due is enqueued, and completed at once. */
async function fireAndComplete(world: World, worker: Awaited<ReturnType<World['worker']>>): Promise<Firing> {
  const firing = await world.store.admin.fireSchedules([task])
  for (const claim of await worker.claim(5)) await worker.complete(claim)
  return firing
}

export async function recordOf(store: Store) {
  const [record] = await store.admin.listSchedules()
  return record
}

export const schedules: Theme = (specify, expect) => {
  specify('a schedule is not due before its time, and says how long that takes', async (world) => {
    const start = await planned(world)
    world.clock.advance(10 * SECOND - 1)
    expect(await world.store.admin.fireSchedules([task])).toEqual({ fired: [], nextInMs: 1 })
    expect(await recordOf(world.store)).toEqual({
      ...everyTenSeconds,
      nextAt: start + 10 * SECOND,
      lastAt: null,
      lastTask: null,
      paused: false,
    })
    expect(await world.counts()).toEqual(counts({}))
  })

  specify('an occurrence that is due becomes one task, as it was given', async (world) => {
    const at = (await planned(world)) + 10 * SECOND
    world.clock.advance(10 * SECOND)
    const given = newTask({ input: '{"a":1}', queue: 'nightly', priority: 7, requires: { gpu: true } })
    const firing = await world.store.admin.fireSchedules([given])
    expect(firing).toEqual({
      fired: [{ name: 'job', at, task: firing.fired[0]?.task }],
      nextInMs: 10 * SECOND,
    })
    expect(await world.task(firing.fired[0]!.task)).toMatchObject({
      name: 'job',
      queue: 'nightly',
      status: 'queued',
      priority: 7,
      input: { a: 1 },
      requires: { gpu: true },
      createdAt: at,
    })
    expect(await recordOf(world.store)).toMatchObject({
      lastAt: at,
      lastTask: firing.fired[0]?.task,
      nextAt: at + 10 * SECOND,
    })
    expect(await world.store.admin.fireSchedules([given])).toMatchObject({ fired: [] })
    expect(await world.counts()).toEqual(counts({ queued: 1 }))
  })

  specify(
    'occurrences that were missed collapse into one, and the times stay what they were',
    async (world) => {
      const start = await planned(world)
      const worker = await world.worker()
      world.clock.advance(95 * SECOND)
      expect(await fireAndComplete(world, worker)).toMatchObject({
        fired: [{ at: start + 10 * SECOND }],
        nextInMs: 5 * SECOND,
      })
      expect((await fireAndComplete(world, worker)).fired).toEqual([])
      world.clock.advance(5 * SECOND)
      expect((await fireAndComplete(world, worker)).fired).toMatchObject([{ at: start + 100 * SECOND }])
    },
  )

  const unfinished: Record<string, (world: World) => Promise<unknown>> = {
    queued: async () => {},
    running: async (world) => (await world.worker()).claimOne(),
    async 'waiting to be tried again'(world) {
      const worker = await world.worker()
      await worker.fail(await worker.claimOne(), 3_600 * SECOND)
    },
  }
  for (const [state, bring] of Object.entries(unfinished)) {
    specify(`an occurrence is skipped while the task of the one before is ${state}`, async (world) => {
      const start = await planned(world)
      world.clock.advance(10 * SECOND)
      const { fired } = await world.store.admin.fireSchedules([task])
      await bring(world)
      world.clock.advance(10 * SECOND)
      expect(await world.store.admin.fireSchedules([task])).toEqual({ fired: [], nextInMs: 10 * SECOND })
      expect(await recordOf(world.store)).toMatchObject({
        lastTask: fired[0]?.task,
        nextAt: start + 30 * SECOND,
      })
    })
  }

  const finished: Record<string, (world: World, id: string) => Promise<unknown>> = {
    async completed(world) {
      const worker = await world.worker()
      await worker.complete(await worker.claimOne())
    },
    async failed(world) {
      const worker = await world.worker()
      await worker.fail(await worker.claimOne())
    },
    cancelled: ({ store }, id) => store.tasks.cancelTask(id),
    removed: ({ store }, id) => store.tasks.removeTask(id),
  }
  for (const [state, bring] of Object.entries(finished)) {
    specify(`an occurrence is enqueued when the task of the one before is ${state}`, async (world) => {
      await planned(world)
      world.clock.advance(10 * SECOND)
      const { fired } = await world.store.admin.fireSchedules([task])
      await bring(world, fired[0]!.task)
      world.clock.advance(10 * SECOND)
      expect((await world.store.admin.fireSchedules([task])).fired).toHaveLength(1)
    })
  }

  specify('each occurrence is enqueued once, however many stores ask at the same moment', async (world) => {
    const names = ['a', 'b', 'c']
    const tasks = names.map((name) => newTask({ name }))
    const others = [await world.database.open(), await world.database.open(), await world.database.open()]
    const stores = [world.store, ...others]
    await world.store.admin.planSchedules(names.map((name) => ({ name, every: '10s', timezone: null })))
    const worker = await world.worker({ names })
    const fired: string[] = []
    for (let round = 0; round < 30; round++) {
      world.clock.advance(10 * SECOND)
      const answers = await Promise.all(
        // In another order by each: none must wait for one that waits for it.
        stores.map((store, i) => store.admin.fireSchedules(i % 2 === 0 ? tasks : [...tasks].reverse())),
      )
      for (const one of answers.flatMap((answer) => answer.fired)) fired.push(`${one.name} ${one.at}`)
      for (const claim of await worker.claim(20)) await worker.complete(claim)
    }
    expect(fired).toHaveLength(90)
    expect(new Set(fired).size).toBe(90)
    expect(await world.counts()).toEqual(counts({ completed: 90 }))
  })

  specify(
    'stores that plan the same at the same moment agree, and nothing is enqueued for it',
    async (world) => {
      const others = [await world.database.open(), await world.database.open()]
      await Promise.all([world.store, ...others].map((store) => store.admin.planSchedules([everyTenSeconds])))
      expect(await world.store.admin.listSchedules()).toHaveLength(1)
      expect(await world.counts()).toEqual(counts({}))
    },
  )

  specify('planning again what has not changed leaves it as it is, due or not', async (world) => {
    await planned(world)
    world.clock.advance(12 * SECOND)
    const before = await recordOf(world.store)
    await (await world.database.open()).admin.planSchedules([everyTenSeconds])
    expect(await recordOf(world.store)).toEqual(before)
    expect((await world.store.admin.fireSchedules([task])).fired).toHaveLength(1)
  })

  specify(
    'a schedule that was changed is planned anew from now on, and keeps its last task',
    async (world) => {
      const start = await planned(world)
      world.clock.advance(10 * SECOND)
      const { fired } = await world.store.admin.fireSchedules([task])
      world.clock.advance(15 * SECOND)
      const changed = { name: 'job', every: '30 9 * * *', timezone: 'Asia/Kolkata' }
      await world.store.admin.planSchedules([changed])
      const tomorrow = Math.floor(start / 86_400_000) * 86_400_000 + 4 * 3_600_000
      expect(await recordOf(world.store)).toEqual({
        ...changed,
        nextAt: tomorrow > world.clock.now() ? tomorrow : tomorrow + 86_400_000,
        lastAt: start + 10 * SECOND,
        lastTask: fired[0]?.task,
        paused: false,
      })
      expect(await world.store.admin.fireSchedules([task])).toMatchObject({ fired: [] })
    },
  )

  for (const [ahead, ms] of Object.entries({ 'an hour': 3_600_000, years: 5 * 365 * 86_400_000 })) {
    specify(
      `a clock that was ahead by ${ahead} when an occurrence fell due stops nothing when it is set back`,
      async (world) => {
        const start = await planned(world)
        const worker = await world.worker()
        world.clock.advance(ms)
        expect((await fireAndComplete(world, worker)).fired).toHaveLength(1)
        world.clock.advance(-ms)
        const firings = await Promise.all([
          world.store.admin.fireSchedules([task]),
          (await world.database.open()).admin.fireSchedules([task]),
        ])
        expect(firings.map(({ fired }) => fired)).toEqual([[], []])
        // The first one was enqueued already.
        const { nextAt } = (await recordOf(world.store))!
        expect(nextAt).toBe(start + 20 * SECOND)
        for (const at of [20, 30]) {
          world.clock.advance(start + at * SECOND - world.clock.now())
          expect((await fireAndComplete(world, worker)).fired).toMatchObject([{ at: start + at * SECOND }])
        }
      },
    )
  }

  specify('an occurrence does not come again when the clock is set back by a moment', async (world) => {
    const start = await planned(world)
    const worker = await world.worker()
    world.clock.advance(10 * SECOND)
    expect((await fireAndComplete(world, worker)).fired).toMatchObject([{ at: start + 10 * SECOND }])
    world.clock.advance(-SECOND)
    expect((await fireAndComplete(world, worker)).fired).toEqual([])
    world.clock.advance(SECOND)
    expect((await fireAndComplete(world, worker)).fired).toEqual([])
    world.clock.advance(10 * SECOND)
    expect((await fireAndComplete(world, worker)).fired).toMatchObject([{ at: start + 20 * SECOND }])
  })

  specify('a schedule of which nobody has the code stands still, and stays in the list', async (world) => {
    await planned(world)
    world.clock.advance(10 * SECOND)
    const other = newTask({ name: 'other' })
    expect(await world.store.admin.fireSchedules([other])).toEqual({ fired: [], nextInMs: null })
    expect(await world.store.admin.listSchedules()).toHaveLength(1)
    expect(await world.counts()).toEqual(counts({}))
  })

  specify(
    'the pause of a queue, or of everything, does not stop a schedule: one task waits',
    async (world) => {
      await planned(world)
      await world.store.admin.setPaused('default', true)
      await world.store.admin.setPaused(null, true)
      for (let n = 0; n < 3; n++) {
        world.clock.advance(10 * SECOND)
        await world.store.admin.fireSchedules([task])
      }
      expect(await world.counts()).toEqual(counts({ queued: 1 }))
    },
  )
}
