import Database from 'better-sqlite3'
import { expect, onTestFinished, test } from 'vitest'
import { defineTask } from '../../src/index.ts'
import { lockUse, outgrown } from '../../src/model/database-use.ts'
import { MINUTE_MS } from '../../src/model/metrics.ts'
import { testMigrated as onPostgres } from '../store/postgres/place.ts'
import { openTemp, tempDatabase } from '../temp-database.ts'

const job = defineTask({ name: 'job', run: () => 'done' })

test('metrics say how busy a SQLite file is: writes, the time of the lock, and the size', async () => {
  const gleaner = await openTemp({ tasks: [job] })
  for (let n = 0; n < 20; n++) await gleaner.enqueue(job)
  await gleaner.work().drained()
  const { database } = await gleaner.metrics()
  expect(database).toMatchObject({ waitsPerSecond: 0, waitMs: null })
  expect(database!.bytes).toBeGreaterThan(10_000)
  expect(database!.writesPerSecond).toBeGreaterThan(0)
  expect(database!.busyShare).toBeGreaterThan(0)
  expect(database!.busyShare).toBeLessThan(1)
})

test('a wait for the lock of another process is counted once, with its time', async () => {
  const path = tempDatabase()
  const gleaner = await openTemp({ path, tasks: [job] })
  await gleaner.enqueue(job)
  const other = new Database(path)
  onTestFinished(() => void other.close())
  other.exec('BEGIN IMMEDIATE')
  const startedMs = performance.now()
  const enqueued = gleaner.enqueue(job)
  // It has missed the lock by then, more than once.
  while (performance.now() - startedMs < 30) await new Promise(setImmediate)
  other.exec('COMMIT')
  await enqueued
  const tookMs = performance.now() - startedMs
  const { database } = await gleaner.metrics({ window: '1m' })
  expect(database!.waitMs).toBeGreaterThan(20)
  expect(database!.waitMs).toBeLessThanOrEqual(tookMs + 1)
  expect(database!.waitsPerSecond).toBeGreaterThan(0)
})

onPostgres('PostgreSQL has no lock that one process at a time holds', async ({ place }) => {
  const gleaner = await place.open({ tasks: [job] })
  await gleaner.enqueue(job)
  expect((await gleaner.metrics()).database).toBe(null)
})

test('a file is outgrown when its lock is mostly held, or is waited for long and often', () => {
  const readings = (incidents: [string, number][]) => ({
    now: MINUTE_MS,
    present: [],
    minutes: [
      {
        ...{ queue: ':database', name: 'lock', enqueued: 0, completed: 0, failed: 0, retried: 0 },
        ...{ minute: 0, durations: new Map(), incidents: new Map(incidents) as never },
      },
    ],
  })
  const use = lockUse(
    readings([
      ['writes', 600],
      ['busy-us', 6_000_000],
      ['lock-waits', 60],
      ['lock-wait-us', 300_000],
    ]),
    0,
  )
  expect(use).toEqual({ writesPerSecond: 10, busyShare: 0.1, waitsPerSecond: 1, waitMs: 5 })
  expect(outgrown(use)).toBe(null)
  expect(outgrown({ ...use, busyShare: 0.7 })).toBe('processes held its write lock 70 % of the last hour')
  expect(outgrown({ ...use, waitsPerSecond: 3, waitMs: 60 })).toMatch(
    /waited 60 ms for its write lock, 3 times a second/,
  )
  // Now and then a process waits for a backup.
  expect(outgrown({ ...use, waitsPerSecond: 0.01, waitMs: 900 })).toBe(null)
})
