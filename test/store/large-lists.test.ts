import { expect, onTestFinished, test } from 'vitest'
import type { Store } from '../../src/store/ports/store.ts'
import type { TaskFilter } from '../../src/store/ports/tasks.ts'
import { timesAsLong } from '../compare-speed.ts'
import { MANY_TASKS, openLanes, START } from './many-tasks.ts'
import { test as onPostgres, Place } from './postgres/place.ts'
import { connect, freshPath, openStore } from './sqlite/folder.ts'

/** The long form takes a million. */
const TASKS = Number(process.env.GLEANER_LIST_TASKS ?? 100_000)
/** Just more than a page passes over. */
const FEW_TASKS = 12_000
/** A page that reads the whole table takes eight times as long there. */
const TIMES_AS_LONG_MAX = 3
const LIMIT_MS = 300_000

const INDEXED: TaskFilter[] = [
  {},
  { status: 'queued' },
  { status: 'scheduled' },
  { status: 'running' },
  { status: 'running', runningLongerThanMs: 60_000 },
  { status: 'running', startedBefore: START },
  { status: 'completed' },
  { status: 'failed', queue: 'default', name: 'job' },
  { status: 'cancelled', finishedBefore: START + 500, finishedAfter: START + 100 },
  { finishedBefore: START + TASKS / 2 },
  { status: 'queued', key: 'k1000' },
]
/** They have no index: a page passes over five thousand tasks, at most. Both tables have so many. */
const SCANNED: TaskFilter[] = [
  { key: 'k1000' },
  { error: 'nobody ever failed with this' },
  { createdBefore: START + 1 },
  { startedBefore: START + 1 },
  { queue: 'empty' },
  { requires: { region: 'eu' } },
]
/** Only the large table has five thousand of such a status. They lie far apart. */
const SCANNED_BY_STATUS: TaskFilter[] = [
  { status: 'failed', error: 'nobody ever failed with this' },
  { status: 'scheduled', queue: 'empty' },
]
const FAR_APART_MAX = 10

async function expectAsFastAsWithFew(few: Store, many: Store): Promise<void> {
  const page = (store: Store, filter: TaskFilter) => () =>
    store.tasks.listTasks(filter, { limit: 50, cursor: null })
  for (const filter of [...INDEXED, ...SCANNED]) {
    const ratio = await timesAsLong(page(many, filter), page(few, filter), TIMES_AS_LONG_MAX)
    expect(ratio, JSON.stringify(filter)).toBeLessThan(TIMES_AS_LONG_MAX)
  }
  for (const filter of SCANNED_BY_STATUS) {
    const ratio = await timesAsLong(page(many, filter), page(few, SCANNED[0]!), FAR_APART_MAX)
    expect(ratio, JSON.stringify(filter)).toBeLessThan(FAR_APART_MAX)
  }
}

test(
  'the first page of a list does not wait for a large table, on SQLite',
  async () => {
    const filled = async (tasks: number) => {
      const path = freshPath()
      const store = await openStore(path)
      await openLanes(store)
      for (const sql of MANY_TASKS.SQLite!(tasks)) connect(path).exec(sql.replaceAll('gleaner.', 'gleaner_'))
      return store
    }
    await expectAsFastAsWithFew(await filled(FEW_TASKS), await filled(TASKS))
  },
  LIMIT_MS,
)

onPostgres(
  'the first page of a list does not wait for a large table, on PostgreSQL',
  async ({ place }) => {
    const beside = new Place()
    onTestFinished(() => beside.clear())
    const filled = async (at: Place, tasks: number) => {
      const store = await at.store()
      await openLanes(store)
      for (const sql of MANY_TASKS.PostgreSQL!(tasks)) await at.rows(sql)
      return store
    }
    await expectAsFastAsWithFew(await filled(beside, FEW_TASKS), await filled(place, TASKS))
  },
  LIMIT_MS,
)
