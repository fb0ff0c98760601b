import { everyTenSeconds, planned, recordOf } from './schedules.ts'
import type { Theme } from './theme.ts'
import { counts, newTask } from './world.ts'

const SECOND = 1_000
const task = newTask()

export const managingSchedules: Theme = (specify, expect) => {
  specify(
    'a paused schedule enqueues nothing, in no store; resumed, it goes on with the next one',
    async (world) => {
      const start = await planned(world)
      const other = await world.database.open()
      expect(await other.admin.setSchedulePaused('job', true)).toBe(true)
      expect(await recordOf(world.store)).toMatchObject({ paused: true, nextAt: null })
      world.clock.advance(25 * SECOND)
      expect(await world.store.admin.fireSchedules([task])).toEqual({ fired: [], nextInMs: null })
      expect(await world.store.admin.setSchedulePaused('job', false)).toBe(true)
      expect(await other.admin.fireSchedules([task])).toEqual({ fired: [], nextInMs: 5 * SECOND })
      world.clock.advance(5 * SECOND)
      expect((await other.admin.fireSchedules([task])).fired).toMatchObject([{ at: start + 30 * SECOND }])
    },
  )

  specify('resuming what is not paused does not lose what is due', async (world) => {
    await planned(world)
    world.clock.advance(12 * SECOND)
    await world.store.admin.setSchedulePaused('job', false)
    expect((await world.store.admin.fireSchedules([task])).fired).toHaveLength(1)
  })

  specify('a change of its times does not end a pause', async (world) => {
    await planned(world)
    await world.store.admin.setSchedulePaused('job', true)
    await world.store.admin.planSchedules([{ name: 'job', every: '20s', timezone: null }])
    expect(await recordOf(world.store)).toMatchObject({ paused: true, every: '20s' })
  })

  specify(
    'a schedule is triggered at any time, also while it is paused, and its times stay',
    async (world) => {
      const start = await planned(world)
      await world.store.admin.setSchedulePaused('job', true)
      world.clock.advance(3 * SECOND)
      const answer = await world.store.admin.triggerSchedule(newTask({ input: '1' }))
      expect(answer).toMatchObject({ created: true })
      expect(await world.task(answer!.id)).toMatchObject({ status: 'queued', input: 1 })
      expect(await recordOf(world.store)).toMatchObject({
        lastAt: start + 3 * SECOND,
        lastTask: answer!.id,
        paused: true,
      })
    },
  )

  specify('a trigger while the last task is unfinished makes no second one, and names it', async (world) => {
    await planned(world)
    const first = await world.store.admin.triggerSchedule(task)
    expect(await world.store.admin.triggerSchedule(task)).toEqual({ id: first!.id, created: false })
    world.clock.advance(10 * SECOND)
    expect((await world.store.admin.fireSchedules([task])).fired).toEqual([])
    expect(await world.counts()).toEqual(counts({ queued: 1 }))
  })

  specify('stores that trigger at the same moment make one task', async (world) => {
    await planned(world)
    const stores = [world.store, await world.database.open(), await world.database.open()]
    const answers = await Promise.all(stores.map((store) => store.admin.triggerSchedule(task)))
    expect(new Set(answers.map((answer) => answer!.id)).size).toBe(1)
    expect(answers.filter((answer) => answer!.created)).toHaveLength(1)
  })

  specify('what nobody planned cannot be triggered or paused', async ({ store }) => {
    expect(await store.admin.triggerSchedule(task)).toBe(null)
    expect(await store.admin.setSchedulePaused('job', true)).toBe(false)
    expect(await store.admin.listSchedules()).toEqual([])
  })

  specify('schedules are listed by name, and outlive the store that planned them', async (world) => {
    const names = ['b', 'a.c', 'a']
    await world.store.admin.planSchedules(names.map((name) => ({ name, every: '@daily', timezone: 'UTC' })))
    await world.store.close()
    const listed = await (await world.database.open()).admin.listSchedules()
    expect(listed.map(({ name }) => name)).toEqual(['a', 'a.c', 'b'])
  })

  specify(
    'who waits for schedules is told of what was planned or resumed, and of work that came of it',
    async (world) => {
      const kinds: string[] = []
      world.store.onChange(({ kind }) => {
        if (kind !== 'elsewhere') kinds.push(kind)
      })
      await planned(world)
      await world.store.admin.planSchedules([everyTenSeconds])
      await world.store.admin.setSchedulePaused('job', true)
      await world.store.admin.setSchedulePaused('job', false)
      expect(kinds).toEqual(['schedules', 'schedules'])
      world.clock.advance(10 * SECOND)
      await world.store.admin.fireSchedules([task])
      expect(kinds).toEqual(['schedules', 'schedules', 'work'])
    },
  )
}
