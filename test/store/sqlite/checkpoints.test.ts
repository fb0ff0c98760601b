import { statSync } from 'node:fs'
import { expect, test } from 'vitest'
import { newTask } from '../../../src/testing/conformance/world.ts'
import { freshPath, openStore } from './folder.ts'

const MEGABYTE = 1024 * 1024

test('the write-ahead log stays bounded, whatever passes through it', async () => {
  const path = freshPath()
  const store = await openStore(path, { durability: 'normal' })
  const input = JSON.stringify('x'.repeat(8_000))
  const tasks = Array.from({ length: 100 }, () => newTask({ input }))
  // 80 MB, of which each commit carries 0.8.
  for (let commit = 0; commit < 100; commit++) await store.enqueue(tasks)
  expect(statSync(path).size).toBeGreaterThan(50 * MEGABYTE)
  expect(statSync(`${path}-wal`).size).toBeLessThan(45 * MEGABYTE)
})
