import { copyFileSync, readFileSync, renameSync, rmSync } from 'node:fs'
import Database from 'better-sqlite3'
import { expect, onTestFinished, test, vi } from 'vitest'
import { defineTask, openGleaner } from '../../../src/index.ts'
import type { Store } from '../../../src/store/ports/store.ts'
import { Connection } from '../../../src/store/sqlite/file/connection.ts'
import { newTask } from '../../conformance/world.ts'
import { freshPath, openStore } from './folder.ts'

const MOVED = { code: 'STORE_MOVED' }

/** What is warned of, which would otherwise be in the output of the tests. */
function warnings(): () => string[] {
  const spy = vi.spyOn(process, 'emitWarning').mockImplementation(() => {})
  onTestFinished(() => spy.mockRestore())
  return () => spy.mock.calls.map(([warning]) => String(warning))
}

/** A store that has acknowledged a task, which is in the log only. */
async function atWork(): Promise<{ path: string; store: Store; id: string; warned: () => string[] }> {
  const warned = warnings()
  const path = freshPath()
  const store = await openStore(path)
  const [task] = await store.tasks.enqueue([newTask()])
  return { path, store, id: task!.id, warned }
}

const meddling: Record<string, (path: string) => void> = {
  'the log is removed': (path) => rmSync(`${path}-wal`),
  'the log is removed together with the shared memory': (path) => {
    rmSync(`${path}-wal`)
    rmSync(`${path}-shm`)
  },
  'the shared memory is removed': (path) => rmSync(`${path}-shm`),
  'the log is replaced': (path) => {
    copyFileSync(`${path}-wal`, `${path}-copy`)
    renameSync(`${path}-copy`, `${path}-wal`)
  },
  'the database is removed': (path) => rmSync(path),
  'the database is replaced by another one': (path) => {
    copyFileSync(path, `${path}-copy`)
    renameSync(`${path}-copy`, path)
  },
  'all files are moved away': (path) => {
    for (const end of ['', '-wal', '-shm']) renameSync(path + end, `${path}-old${end}`)
  },
}

test.for(Object.entries(meddling))('nothing is acknowledged any more when %s', async ([, meddle]) => {
  const { path, store, id, warned } = await atWork()
  meddle(path)
  await expect(store.tasks.enqueue([newTask()])).rejects.toMatchObject(MOVED)
  // Also not what needs no write.
  await expect(store.tasks.getTask(id)).rejects.toMatchObject(MOVED)
  expect(warned()).toEqual([expect.stringContaining('another program removed or replaced')])
})

test('what was acknowledged before its log was removed is in the database file, also after a kill', async () => {
  const { path, store, id } = await atWork()
  rmSync(`${path}-wal`)
  await expect(store.tasks.enqueue([newTask()])).rejects.toThrow(
    'All that was committed is in the database file',
  )
  // As the next process would find it, if this one was killed.
  const copy = `${path}-copy`
  copyFileSync(path, copy)
  const found = new Database(copy)
  onTestFinished(() => void found.close())
  expect(found.prepare('SELECT count(*) FROM gleaner_tasks WHERE id = ?').pluck().get(Number(id))).toBe(1)
})

test('nothing is written to the database file when another process may have opened it without the log', async () => {
  const { path, store } = await atWork()
  rmSync(`${path}-wal`)
  rmSync(`${path}-shm`)
  const before = readFileSync(path)
  await expect(store.tasks.enqueue([newTask()])).rejects.toMatchObject(MOVED)
  expect(readFileSync(path).equals(before)).toBe(true)
})

test('a worker that nobody asks for anything gives up when its log is removed', async () => {
  warnings()
  const path = freshPath()
  const task = defineTask({ name: 'task', run: async () => {} })
  const gleaner = await openGleaner({ database: `sqlite:${path}`, tasks: [task] })
  const failed = new Promise((resolve) => gleaner.on('worker-failed', ({ error }) => resolve(error)))
  const worker = gleaner.work()
  await worker.drained()
  rmSync(`${path}-wal`)
  expect(await failed).toMatchObject(MOVED)
  await expect(worker.drained()).rejects.toMatchObject(MOVED)
  await gleaner.close()
})

test('a connection that is closed while something waits for its turn says nothing of removed files', async () => {
  const warned = warnings()
  const path = freshPath()
  const connection = new Connection(path)
  await connection.configure()
  await connection.read(() => connection.statements.sql('CREATE TABLE notes (id INTEGER)').run())
  connection.guardFiles()
  connection.close()
  // As the last one it has removed the log.
  await expect(connection.read(() => 1)).resolves.toBe(1)
  expect(() => connection.mustBeInPlace()).not.toThrow()
  expect(warned()).toEqual([])
})

test('a store that was closed warns of nothing', async () => {
  const warned = warnings()
  // After one of these commits it wants to look at the log, in the next turn of the event loop.
  for (const commits of [6, 7, 8, 9, 10]) {
    const path = freshPath()
    const store = await openStore(path)
    for (let n = 0; n < commits; n++) await store.tasks.enqueue([newTask()])
    await store.close()
    // As the last connection does that closes it.
    rmSync(`${path}-wal`, { force: true })
    blockThread(120)
    await new Promise(setImmediate)
  }
  expect(warned()).toEqual([])
})

/** Longer than the files are taken to be in place. */
function blockThread(ms: number): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms)
}
