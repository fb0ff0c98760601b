import { statSync } from 'node:fs'
import { setImmediate } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { newTask } from '../../conformance/world.ts'
import { connect, freshPath, openStore } from './folder.ts'

const MEGABYTE = 1024 * 1024

/** 0.8 MB, in one commit. */
function manyTasks() {
  const input = JSON.stringify('x'.repeat(8_000))
  return Array.from({ length: 100 }, () => newTask({ input }))
}

test('the write-ahead log stays bounded, whatever passes through it', async () => {
  const path = freshPath()
  const store = await openStore(path, { durability: 'normal' })
  for (let commit = 0; commit < 100; commit++) await store.tasks.enqueue(manyTasks())
  expect(statSync(path).size).toBeGreaterThan(50 * MEGABYTE)
  expect(statSync(`${path}-wal`).size).toBeLessThan(45 * MEGABYTE)
})

test('the write-ahead log stays bounded while somebody else always writes', async () => {
  const path = freshPath()
  const store = await openStore(path, { durability: 'normal' })
  const other = connect(path)
  // As another worker's would be.
  other.pragma('wal_autocheckpoint = 0')
  other.exec('CREATE TABLE notes (n INTEGER)')
  for (let commit = 0; commit < 100; commit++) {
    await store.tasks.enqueue(manyTasks())
    // He is there before we get round to the log.
    other.exec('BEGIN IMMEDIATE; INSERT INTO notes VALUES (1)')
    await setImmediate()
    other.exec('COMMIT')
  }
  expect(statSync(path).size).toBeGreaterThan(50 * MEGABYTE)
  expect(statSync(`${path}-wal`).size).toBeLessThan(45 * MEGABYTE)
})
