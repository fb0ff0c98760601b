import { describe, expect, onTestFinished, test } from 'vitest'
import { dueSchedules, fireSchedules } from '../../../src/store/scripts/schedules.ts'
import { native } from '../../../src/store/sql/script.ts'
import { loadDriver } from '../../../src/store/sqlite/drivers/load.ts'
import { driveOn, sqliteDialect } from '../../../src/store/sqlite/file/scripts.ts'
import { Statements } from '../../../src/store/sqlite/file/statements.ts'
import { openSqliteStore } from '../../../src/store/sqlite/store.ts'
import { type Intended, insertTasks } from '../../../src/store/sqlite/tasks/enqueue.ts'
import { laneFor } from '../../../src/store/sqlite/tasks/lanes.ts'
import { QueueCache } from '../../../src/store/sqlite/tasks/queue-cache.ts'
import { ManualClock } from '../../../src/testing/manual-clock.ts'
import { newTask } from '../../conformance/world.ts'
import { connect, freshPath } from './folder.ts'

const task = newTask()

/** A schedule that a process has seen to be due; it is about to write when something else happens. */
async function scene() {
  const path = freshPath()
  const clock = new ManualClock()
  const store = await openSqliteStore({ path, clock })
  onTestFinished(() => store.close())
  await store.admin.planSchedules([{ name: 'job', every: '10s', timezone: null }])
  clock.advance(10_000)
  const db = new Statements(connect(path), loadDriver())
  const dialect = sqliteDialect(clock.now)
  const { due } = driveOn(db, dueSchedules(dialect, [task]))
  expect(due).toHaveLength(1)
  const intended: Intended = {
    placeOf: (given) => laneFor(db, given),
    queues: new QueueCache(db, Math.random),
  }
  const insert = (one: typeof task) => native(() => insertTasks(db, [one], clock.now(), intended)[0]!)
  const write = () => driveOn(db, fireSchedules(dialect, { due, tasks: [task] }, { insert })).fired
  return { db, store, write }
}

describe('an occurrence that was seen to be due', () => {
  test('is enqueued', async () => {
    const { store, write } = await scene()
    expect(write()).toHaveLength(1)
    expect(await store.tasks.countTasks({})).toMatchObject({ queued: 1 })
  })

  test('and was enqueued, and even ended, meanwhile, is not enqueued again', async () => {
    const { store, write } = await scene()
    const { fired } = await store.admin.fireSchedules([task])
    await store.tasks.cancelTask(fired[0]!.task)
    expect(write()).toEqual([])
    expect(await store.tasks.countTasks({})).toMatchObject({ queued: 0, cancelled: 1 })
  })

  test('and was paused meanwhile is not enqueued', async () => {
    const { store, write } = await scene()
    await store.admin.setSchedulePaused('job', true)
    expect(write()).toEqual([])
  })

  test('and was planned anew meanwhile, for the same moment, is left to the new plan', async () => {
    const { db, write } = await scene()
    db.sql(`UPDATE gleaner_schedules SET every = '20s'`).run()
    expect(write()).toEqual([])
  })
})
