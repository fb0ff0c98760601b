import Database from 'better-sqlite3'
import { describe, expect, test } from 'vitest'
import { paceOf } from '../../src/model/row-pace.ts'
import { openTemp, tempDatabase } from '../temp-database.ts'
import { FILES, tagFiles } from './library.ts'

test('counts are exact above a million, and computed aside while rows are worked on', async () => {
  const path = tempDatabase()
  const db = new Database(path)
  db.exec(FILES)
  db.exec(`INSERT INTO files (id, path)
    WITH RECURSIVE numbers (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < 1100000)
    SELECT n, 'x' FROM numbers`)
  db.close()
  let done = 0
  const gleaner = await openTemp({ path, discoveries: [tagFiles()] })
  gleaner.on('completed', () => {
    done += 1
  })
  const idle = await gleaner.discoveries.stats('tag-files')
  expect(idle).toMatchObject({ waiting: 1_100_000, claimed: 0, backingOff: 0, quarantined: 0, etaMs: null })

  const worker = gleaner.work({ concurrency: 5 })
  const doneBefore = done
  const askedAt = Date.now()
  const busy = await gleaner.discoveries.stats('tag-files')
  expect(busy.asOf).toBeGreaterThanOrEqual(askedAt - 1_000)
  // While it was counted, the worker went on.
  expect(done).toBeGreaterThan(doneBefore)
  await worker.stop()
  const left = 1_100_000 - done
  const counted = busy.waiting + busy.claimed
  expect(counted).toBeGreaterThanOrEqual(left)
  expect(counted).toBeLessThanOrEqual(1_100_000)
})

describe('the pace of a discovery', () => {
  const minute = (at: number, completed: number, bucket: number) => ({
    queue: ':rows',
    name: 'tag-files',
    minute: at,
    enqueued: 0,
    completed,
    failed: 0,
    retried: 0,
    durations: new Map([[bucket, completed]]),
  })

  test('is counted from the first minute in which a row was done', () => {
    const minutes = [minute(60_000, 90, 1), minute(120_000, 30, 1)]
    expect(paceOf({ now: 180_000, present: [], minutes }, 'tag-files').donePerMinute).toBe(60)
  })

  test('rolls: the newest minute counts for a fifth', () => {
    const once = paceOf({ now: 180_000, present: [], minutes: [minute(60_000, 5, 100)] }, 'tag-files')
    const minutes = [minute(120_000, 5, 1), minute(60_000, 5, 100)]
    const rolled = paceOf({ now: 180_000, present: [], minutes }, 'tag-files')
    expect(rolled.averageMs! / once.averageMs!).toBeCloseTo(0.8, 2)
  })

  test('is nobody else’s: other discoveries, and tasks, do not count', () => {
    const others = [
      { ...minute(60_000, 90, 1), name: 'other' },
      { ...minute(60_000, 90, 1), queue: 'default' },
    ]
    expect(paceOf({ now: 180_000, present: [], minutes: others }, 'tag-files')).toEqual({
      donePerMinute: 0,
      averageMs: null,
    })
  })
})
