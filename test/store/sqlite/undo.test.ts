import { expect, onTestFinished, test } from 'vitest'
import { Connection } from '../../../src/store/sqlite/file/connection.ts'
import { Writer } from '../../../src/store/sqlite/file/writer.ts'

test('what we write ourselves is undone from memory, what a user writes from a file', async () => {
  const connection = new Connection(':memory:')
  onTestFinished(() => connection.close())
  const writer = new Writer(connection, {
    busyLimitMs: 1_000,
    workers: () => 1,
    onRollback() {},
    onCommit() {},
  })
  const undo = () =>
    ['default', 'file', 'memory'][connection.raw.pragma('temp_store', { simple: true }) as number]
  expect(await writer.write('normal', undo)).toBe('memory')
  expect(await writer.write('normal', undo, true)).toBe('file')
  // They share a commit.
  expect(await Promise.all([writer.write('normal', undo), writer.write('normal', undo, true)])).toEqual([
    'file',
    'file',
  ])
  expect(await writer.write('normal', undo)).toBe('memory')
})
