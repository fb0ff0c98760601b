import { describe, expect, onTestFinished, vi } from 'vitest'
import { systemClock } from '../../../src/clock.ts'
import type { NewTask } from '../../../src/store/ports/new-task.ts'
import { DiscoveryCache } from '../../../src/store/postgres/rows/discovery-cache.ts'
import { Database } from '../../../src/store/postgres/server/database.ts'
import { driveOn, postgresDialect } from '../../../src/store/postgres/server/scripts.ts'
import { ServerLife } from '../../../src/store/postgres/server/server-life.ts'
import type { Sql } from '../../../src/store/postgres/server/sql.ts'
import { HeldBatches } from '../../../src/store/postgres/tasks/batches.ts'
import { insertTasks } from '../../../src/store/postgres/tasks/enqueue.ts'
import { LaneCache } from '../../../src/store/postgres/tasks/lanes.ts'
import { LowWater } from '../../../src/store/postgres/tasks/low-water.ts'
import { QueueCache } from '../../../src/store/postgres/tasks/queue-cache.ts'
import { ReadyLanes } from '../../../src/store/postgres/tasks/ready-lanes.ts'
import { UsualSessions } from '../../../src/store/postgres/tasks/usual.ts'
import {
  changedSchedules,
  dueSchedules,
  fireSchedules,
  planSchedules,
} from '../../../src/store/scripts/schedules.ts'
import { native } from '../../../src/store/sql/script.ts'
import { Turns } from '../../../src/store/turns.ts'
import { WeightedEntries } from '../../../src/store/weighted-entries.ts'
import { newTask } from '../../conformance/world.ts'
import { type Place, testMigrated as test } from './place.ts'

const task = newTask()
const db = postgresDialect(() => null)
const hourly = { name: 'job', every: '1h', timezone: null }

/** A schedule that is due, since long ago. */
async function dueAt(place: Place): Promise<number> {
  const past = await place.store({ clock: { ...systemClock, now: () => 0 } })
  await past.admin.planSchedules([hourly])
  return 3_600_000
}

test('a process that is lost between taking an occurrence and enqueuing its task loses nothing', async ({
  place,
}) => {
  const at = await dueAt(place)
  const proxy = await place.proxy()
  const victim = await place.store({ url: proxy.url })
  const lost = proxy.lose('question', /INSERT INTO .*tasks/s, /UPDATE .*schedules/s)
  const firing = victim.admin.fireSchedules([task])
  await lost
  await expect(firing).rejects.toMatchObject({ code: 'STORE_AWAY' })
  const other = await place.store()
  expect(await other.admin.listSchedules()).toMatchObject([{ nextAt: at, lastTask: null }])
  expect((await other.admin.fireSchedules([task])).fired).toMatchObject([{ at }])
})

test('an occurrence whose commit went unanswered is not enqueued again', async ({ place }) => {
  const at = await dueAt(place)
  const proxy = await place.proxy()
  const victim = await place.store({ url: proxy.url })
  const lost = proxy.lose('answer', /^COMMIT/, /UPDATE .*schedules/s)
  const firing = victim.admin.fireSchedules([task])
  await lost
  await expect(firing).rejects.toMatchObject({ code: 'STORE_AWAY' })
  const other = await place.store()
  expect((await other.admin.fireSchedules([task])).fired).toEqual([])
  expect(await other.tasks.countTasks({})).toMatchObject({ queued: 1 })
  expect(await other.admin.listSchedules()).toMatchObject([{ lastAt: at, lastTask: '1' }])
})

test("a schedule goes by the server's clock, not by that of the process", async ({ place }) => {
  const store = await place.store()
  vi.setSystemTime(0)
  onTestFinished(() => {
    vi.useRealTimers()
  })
  await store.admin.planSchedules([hourly])
  const [{ now }] = await place.rows('SELECT gleaner.now_ms()::float8 AS now')
  const [planned] = await store.admin.listSchedules()
  expect(planned!.nextAt! - now).toBeLessThanOrEqual(3_600_000)
  expect(planned!.nextAt).toBeGreaterThan(now)
  expect((await store.admin.fireSchedules([task])).nextInMs).toBeLessThanOrEqual(3_600_000)
})

/** A schedule that a process has seen to be due; it is about to write when something else happens. */
async function scene(place: Place) {
  await dueAt(place)
  const store = await place.store()
  const database = openDatabase(place)
  const lanes = new LaneCache(database.sql)
  const queues = new QueueCache(database.sql, Math.random, () => {})
  const lowWater = new LowWater(systemClock)
  const memory = {
    lanes,
    queues,
    lowWater,
    ready: new ReadyLanes(() => systemClock.monotonicMs()),
    turns: new Turns(),
    weightedEntries: new WeightedEntries(),
    batches: new HeldBatches(),
    discoveries: new DiscoveryCache(database),
    usual: new UsualSessions(),
    life: new ServerLife(database, () => {}),
  }
  await lanes.learn([task])
  await queues.known()
  const { due } = await driveOn(database.sql, dueSchedules(db, [task]))
  expect(due).toHaveLength(1)
  const inserting = (one: NewTask) =>
    native(async (own: Sql) => (await insertTasks(own, memory, [one], null, null))[0]!)
  const write = async () =>
    (
      await database.transaction((own) =>
        driveOn(own, fireSchedules(db, { due, tasks: [task] }, { insert: inserting })),
      )
    ).fired
  return { store, write }
}

function openDatabase(place: Place): Database {
  const database = new Database({ url: place.url, schema: place.schema })
  place.atEnd(() => database.close())
  return database
}

describe('an occurrence that was seen to be due', () => {
  test('is enqueued', async ({ place }) => {
    const { store, write } = await scene(place)
    expect(await write()).toHaveLength(1)
    expect(await store.tasks.countTasks({})).toMatchObject({ queued: 1 })
  })

  test('and was enqueued, and even ended, meanwhile, is not enqueued again', async ({ place }) => {
    const { store, write } = await scene(place)
    const { fired } = await store.admin.fireSchedules([task])
    await store.tasks.cancelTask(fired[0]!.task)
    expect(await write()).toEqual([])
    expect(await store.tasks.countTasks({})).toMatchObject({ queued: 0, cancelled: 1 })
  })

  test('and was paused meanwhile is not enqueued', async ({ place }) => {
    const { store, write } = await scene(place)
    await store.admin.setSchedulePaused('job', true)
    expect(await write()).toEqual([])
  })

  test('and was planned anew meanwhile, for the same moment, is left to the new plan', async ({ place }) => {
    const { write } = await scene(place)
    await place.rows(`UPDATE gleaner.schedules SET every = '2h'`)
    expect(await write()).toEqual([])
  })
})

test('a schedule that another process has planned, and missed since, is not planned away', async ({
  place,
}) => {
  const database = openDatabase(place)
  await place.store()
  const changed = await driveOn(database.sql, changedSchedules([hourly]))
  const at = await dueAt(place)
  await database.transaction((own) => driveOn(own, planSchedules(db, changed)))
  expect(await place.rows('SELECT next_at::float8 AS at FROM gleaner.schedules')).toEqual([{ at }])
})
