import { statSync } from 'node:fs'
import { expect, onTestFinished, test, vi } from 'vitest'
import { newTask } from '../../conformance/world.ts'
import { until } from '../../until.ts'
import { connect, freshPath, openStore } from './folder.ts'

const MEGABYTE = 2 ** 20
/** More than the store commits before it looks at the log. */
const COMMITS = 210

test('a reader that holds the log open is warned of, and the log is short again when it is gone', async () => {
  const warned = vi.spyOn(process, 'emitWarning').mockImplementation(() => {})
  onTestFinished(() => warned.mockRestore())
  const path = freshPath()
  const store = await openStore(path, { durability: 'normal' })
  await store.tasks.enqueue([newTask(), newTask()])
  const reader = connect(path)
  const rows = reader.prepare('SELECT id FROM gleaner_tasks').iterate()
  rows.next()
  const other = connect(path)
  other.pragma('wal_autocheckpoint = 0')
  other.exec(`CREATE TABLE photos (photo BLOB); INSERT INTO photos VALUES (zeroblob(${60 * MEGABYTE}))`)

  for (let commit = 0; commit < COMMITS; commit++) await store.tasks.enqueue([newTask()])
  await until('the process warns', () => warned.mock.calls.length > 0)
  expect(statSync(`${path}-wal`).size).toBeGreaterThan(60 * MEGABYTE)
  expect(warned.mock.calls.map(([warning]) => warning)).toEqual([
    expect.stringContaining('a program has read the database for a long time'),
  ])

  rows.return!()
  // Without any further commit.
  await until('the log is short', () => statSync(`${path}-wal`).size < 33 * MEGABYTE)
})
