import { expect, test } from 'vitest'
import type { Store, TaskFilter } from '../../src/store/contract.ts'
import { MANY_TASKS, openLanes, START } from './many-tasks.ts'
import { test as onPostgres } from './postgres/place.ts'
import { connect, freshPath, openStore } from './sqlite/folder.ts'

/** The long form takes a million. */
const TASKS = Number(process.env.GLEANER_LIST_TASKS ?? 100_000)
const FIRST_PAGE_MS = 20
const LIMIT_MS = 300_000

const INDEXED: TaskFilter[] = [
  {},
  { status: 'queued' },
  { status: 'scheduled' },
  { status: 'running' },
  { status: 'completed' },
  { status: 'failed', queue: 'default', name: 'job' },
  { status: 'cancelled', finishedBefore: START + 500, finishedAfter: START + 100 },
  { finishedBefore: START + TASKS / 2 },
  { status: 'queued', key: 'k1000' },
]
/** They have no index: a page passes over ten thousand tasks, at most. */
const SCANNED: TaskFilter[] = [
  { key: 'k1000' },
  { error: 'nobody ever failed with this' },
  { status: 'failed', error: 'nobody ever failed with this' },
  { createdBefore: START + 1 },
  { queue: 'empty' },
  { status: 'scheduled', queue: 'empty' },
]

async function expectFastPages(store: Store): Promise<void> {
  for (const filter of INDEXED) {
    await expectWithin(FIRST_PAGE_MS, store, filter)
  }
  for (const filter of SCANNED) {
    await expectWithin(10 * FIRST_PAGE_MS, store, filter)
  }
}

/** Once in many times is enough: what disturbs the machine is not what the page costs. */
async function expectWithin(limitMs: number, store: Store, filter: TaskFilter): Promise<void> {
  let fastestMs = Number.POSITIVE_INFINITY
  for (let round = 0; round < 100 && fastestMs >= limitMs; round++) {
    const since = performance.now()
    await store.listTasks(filter, { limit: 50, cursor: null })
    fastestMs = Math.min(fastestMs, performance.now() - since)
  }
  expect(fastestMs, JSON.stringify(filter)).toBeLessThan(limitMs)
}

test(
  'the first page of a list does not wait for a large table, on SQLite',
  async () => {
    const path = freshPath()
    const store = await openStore(path)
    await openLanes(store)
    for (const sql of MANY_TASKS.SQLite!(TASKS)) connect(path).exec(sql.replaceAll('gleaner.', 'gleaner_'))
    await expectFastPages(store)
  },
  LIMIT_MS,
)

onPostgres(
  'the first page of a list does not wait for a large table, on PostgreSQL',
  async ({ place }) => {
    const store = await place.store()
    await openLanes(store)
    for (const sql of MANY_TASKS.PostgreSQL!(TASKS)) await place.rows(sql)
    await expectFastPages(store)
  },
  LIMIT_MS,
)
