import Database from 'better-sqlite3'
import { expect, onTestFinished, test } from 'vitest'
import { openGleaner } from '../../../src/index.ts'

import { Connection } from '../../../src/store/sqlite/file/connection.ts'
import { tempDatabase } from '../../temp-database.ts'

async function pragmasOf(tuning: Parameters<Connection['configure']>[0]): Promise<unknown[]> {
  const connection = new Connection(tempDatabase(), { library: 'better-sqlite3' })
  onTestFinished(() => connection.close())
  await connection.configure(tuning)
  return ['cache_size', 'mmap_size'].map((name) => connection.raw.pragma(name, { simple: true }))
}

test('the page cache and the memory map have the sizes of the options, and defaults', async () => {
  expect(await pragmasOf({})).toEqual([-6_000, 0])
  expect(await pragmasOf({ cacheBytes: 2 ** 20, mmapBytes: 2 ** 24 })).toEqual([-1_024, 2 ** 24])
})

test('a write fails with STORE_BUSY when another process holds the lock for longer than busyTimeout', async () => {
  const path = tempDatabase()
  const gleaner = await openGleaner({ database: `sqlite:${path}`, sqlite: { busyTimeout: '50ms' } })
  const other = new Database(path)
  onTestFinished(async () => {
    other.close()
    await gleaner.close()
  })
  other.exec('BEGIN IMMEDIATE')
  await expect(gleaner.pause()).rejects.toMatchObject({ code: 'STORE_BUSY' })
  other.exec('COMMIT')
  await gleaner.pause()
  expect(other.prepare("SELECT value FROM gleaner_meta WHERE key = 'paused'").pluck().get()).toBe(1)
})

test.each([
  [{ cacheSze: 1 }, /Did you mean cacheSize/],
  [{ mmap_size: 1 }, /There are: driver, cacheSize, mmapSize, busyTimeout/],
  [{ cacheSize: 100 }, /from 262144/],
  [{ mmapSize: -1 }, /whole number of bytes/],
  [{ mmapSize: '1GB' }, /whole number of bytes/],
  [{ busyTimeout: 'long' }, /not a duration/],
])('sqlite: %j is refused', async (sqlite, message) => {
  const opening = openGleaner({ database: `sqlite:${tempDatabase()}`, sqlite: sqlite as object })
  await expect(opening).rejects.toThrow(message)
})
