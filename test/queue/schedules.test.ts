import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { defineTask, implement, type ScheduleRecord } from '../../src/index.ts'
import { openTemp, tempDatabase } from '../temp-database.ts'

const HOUR = 3_600_000

const cleanUp = defineTask({
  name: 'clean-up',
  queue: 'nightly',
  input: z.object({ folder: z.string() }),
  every: '0 3 * * *',
  timezone: 'Europe/Berlin',
  everyInput: { folder: 'inbox' },
  run: ({ folder }) => `${folder} is clean`,
})
const sync = defineTask({ name: 'sync', every: '6h', run: () => 'synced' })

describe('schedules', () => {
  test('are listed by name, with their next time, from the moment that a process knows them', async () => {
    const gleaner = await openTemp({ tasks: [sync, cleanUp, defineTask({ name: 'once', run: () => {} })] })
    const [first, second, ...more] = (await gleaner.schedules.list()) as [ScheduleRecord, ScheduleRecord]
    expect(more).toEqual([])
    expect(first).toEqual({
      name: 'clean-up',
      every: '0 3 * * *',
      timezone: 'Europe/Berlin',
      nextAt: expect.any(Number),
      lastAt: null,
      lastTask: null,
      paused: false,
    })
    expect(second).toMatchObject({ name: 'sync', every: '6h', timezone: null })
    expect(second.nextAt! % (6 * HOUR)).toBe(0)
    expect(second.nextAt! - Date.now()).toBeLessThanOrEqual(6 * HOUR)
  })

  test('are paused and resumed, also by a process that does not know their task', async () => {
    const path = tempDatabase()
    const gleaner = await openTemp({ path, tasks: [sync] })
    const other = await openTemp({ path })
    await other.schedules.pause('sync')
    expect(await gleaner.schedules.list()).toMatchObject([{ paused: true, nextAt: null }])
    await other.schedules.resume('sync')
    expect(await gleaner.schedules.list()).toMatchObject([{ paused: false, nextAt: expect.any(Number) }])
  })

  test('that do not exist cannot be paused, resumed or triggered', async () => {
    const gleaner = await openTemp({ tasks: [defineTask({ name: 'once', run: () => {} })] })
    for (const verb of ['pause', 'resume', 'trigger'] as const) {
      await expect(gleaner.schedules[verb]('once')).rejects.toMatchObject({
        code: 'UNKNOWN_SCHEDULE',
        hint: expect.stringContaining('every'),
      })
    }
  })

  test('cannot be triggered by a process that does not know what to enqueue', async () => {
    const path = tempDatabase()
    await openTemp({ path, tasks: [sync] })
    const other = await openTemp({ path })
    await expect(other.schedules.trigger('sync')).rejects.toMatchObject({ code: 'UNKNOWN_SCHEDULE' })
  })
})

describe('a trigger', () => {
  test('enqueues one now, with the input and into the queue of the definition', async () => {
    const gleaner = await openTemp({ tasks: [cleanUp] })
    const planned = (await gleaner.schedules.list())[0]!.nextAt
    gleaner.work()
    const handle = await gleaner.schedules.trigger('clean-up')
    expect(handle.created).toBe(true)
    expect(await handle.result()).toBe('inbox is clean')
    expect(await gleaner.tasks.get(handle.id)).toMatchObject({ queue: 'nightly', input: { folder: 'inbox' } })
    expect(await gleaner.schedules.list()).toMatchObject([{ lastTask: handle.id, nextAt: planned }])
  })

  test('while the last one is unfinished answers the handle of that one', async () => {
    const gleaner = await openTemp({ tasks: [sync] })
    const first = await gleaner.schedules.trigger('sync')
    const second = await gleaner.schedules.trigger('sync')
    expect(second).toMatchObject({ id: first.id, created: false })
    gleaner.work()
    expect(await second.result()).toBe('synced')
    expect((await gleaner.schedules.trigger('sync')).created).toBe(true)
  })
})

describe('a definition', () => {
  test('that has changed is planned anew when it is opened', async () => {
    const path = tempDatabase()
    await openTemp({ path, tasks: [sync] })
    const changed = defineTask({
      name: 'sync',
      every: '0 12 * * MON',
      timezone: 'Asia/Kolkata',
      run: () => '',
    })
    const gleaner = await openTemp({ path, tasks: [changed] })
    const [record] = await gleaner.schedules.list()
    expect(record).toMatchObject({ every: '0 12 * * MON', timezone: 'Asia/Kolkata' })
    expect(new Date(record!.nextAt!).toISOString()).toMatch(/T06:30:00.000Z$/)
  })

  test('that is gone from the code leaves its schedule in the list', async () => {
    const path = tempDatabase()
    const before = await openTemp({ path, tasks: [sync, cleanUp] })
    await before.close()
    const gleaner = await openTemp({ path, tasks: [cleanUp] })
    expect((await gleaner.schedules.list()).map(({ name }) => name)).toEqual(['clean-up', 'sync'])
  })

  test('whose code lives elsewhere recurs all the same', async () => {
    const declared = defineTask({ name: 'report', every: '1h' })
    const gleaner = await openTemp({ tasks: [implement(declared, { run: () => 'written' })] })
    gleaner.work()
    expect(await (await gleaner.schedules.trigger('report')).result()).toBe('written')
  })
})
