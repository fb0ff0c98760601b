import { describe, expect, onTestFinished, test } from 'vitest'
import { systemClock } from '../../../src/clock.ts'
import { Claimant } from '../../conformance/claimant.ts'
import { newTask } from '../../conformance/world.ts'
import { until } from '../../until.ts'
import { Child } from './children/child.ts'
import { connect, freshPath, openStore } from './folder.ts'

const LOCK_HOLDER = import.meta.resolve('./children/lock-holder.ts')

test('a write lock that another process holds for a while costs waiting, and no error', async () => {
  const path = freshPath()
  const store = await openStore(path)
  await store.tasks.enqueue([newTask()])
  const worker = await new Claimant(store, { ...systemClock, advance() {} }).begin()
  const holder = new Child(LOCK_HOLDER, path)
  await holder.says('locked')

  const turns = countTurns()
  const writes = [
    store.tasks.enqueue([newTask()]),
    worker.claim(1),
    store.admin.setPaused('other', true),
  ] as const
  let written = 0
  for (const write of writes) void write.then(() => (written += 1))
  // Readers do not wait for a writer.
  expect(await store.tasks.countTasks({})).toMatchObject({ queued: 1 })
  // Waiting leaves the event loop to others.
  await until('it has turned many times', () => turns() > 20)
  expect(written).toBe(0)
  holder.letGo()
  const [[enqueued], claims] = await Promise.all(writes)
  await holder.says('released')

  expect(enqueued).toMatchObject({ created: true })
  expect(claims).toHaveLength(1)
})

describe('a write lock that is held for longer than anybody wants to wait', () => {
  test('is answered with STORE_BUSY and what to do, and nothing is written later', async () => {
    const path = freshPath()
    const store = await openStore(path, { busyLimitMs: 100 })
    const holder = new Child(LOCK_HOLDER, path)
    await holder.says('locked')
    const refused = { code: 'STORE_BUSY', hint: expect.stringMatching(/keep transactions short/) }
    await Promise.all([
      expect(store.tasks.enqueue([newTask()])).rejects.toMatchObject(refused),
      expect(store.admin.setPaused(null, true)).rejects.toMatchObject(refused),
    ])
    holder.letGo()
    await holder.says('released')
    expect(await store.tasks.enqueue([newTask({ key: 'after' })])).toMatchObject([{ created: true }])
    expect(await store.tasks.countTasks({})).toMatchObject({ queued: 1 })
    expect(await store.admin.listQueues()).toMatchObject([{ name: 'default', paused: false }])
  })

  test('is let go by a process that dies', async () => {
    const path = freshPath()
    const store = await openStore(path)
    const holder = new Child(LOCK_HOLDER, path)
    await holder.says('locked')
    const enqueued = store.tasks.enqueue([newTask()])
    await holder.kill()
    expect(await enqueued).toMatchObject([{ created: true }])
  })
})

test('a file that is locked while it is opened for the first time is waited for', async () => {
  const path = freshPath()
  connect(path).exec('CREATE TABLE app (id INTEGER)')
  const holder = new Child(LOCK_HOLDER, path)
  await holder.says('locked')
  const opening = openStore(path)
  holder.letGo()
  const store = await opening
  expect(await store.tasks.enqueue([newTask()])).toMatchObject([{ created: true }])
})

/** How often the event loop has turned since. */
function countTurns(): () => number {
  let turns = 0
  const timer = setInterval(() => {
    turns += 1
  }, 5)
  onTestFinished(() => clearInterval(timer))
  return () => turns
}
