import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { systemClock } from '../../../src/clock.ts'
import { Connection, type Durability } from '../../../src/store/sqlite/file/connection.ts'
import { Claimant } from '../../conformance/claimant.ts'
import { newTask } from '../../conformance/world.ts'
import { freshPath, openStore } from './folder.ts'
import { commitsInLog } from './write-ahead-log.ts'

const NORMAL = 1
const FULL = 2

/** What `synchronous` really is at the moment of each commit. */
function watchCommits(): number[] {
  const seen: number[] = []
  const commit = Connection.prototype.commit
  const spy = vi.spyOn(Connection.prototype, 'commit').mockImplementation(function (this: Connection) {
    seen.push(this.raw.pragma('synchronous', { simple: true }) as number)
    commit.call(this)
  })
  onTestFinished(() => spy.mockRestore())
  return seen
}

async function prepared(durability?: Durability) {
  const store = await openStore(freshPath(), { durability })
  const clock = { ...systemClock, advance() {} }
  const worker = await new Claimant(store, clock).begin()
  const answers = await store.tasks.enqueue(Array.from({ length: 6 }, () => newTask()))
  const claims = await worker.claim(3)
  // The last of all was a commit that syncs nothing, so that what follows must ask for it.
  await worker.complete(claims[2]!)
  return { store, worker, claims, ids: answers.map(({ id }) => id), commits: watchCommits() }
}

type Prepared = Awaited<ReturnType<typeof prepared>>

const promised: Record<string, (on: Prepared) => Promise<unknown>> = {
  enqueue: ({ store }) => store.tasks.enqueue([newTask()]),
  'a completion with effects': ({ worker, claims }) => worker.completeWith(claims[0]!, () => undefined),
  'a cancellation': ({ store, ids }) => store.tasks.cancelTask(ids[4]!),
  'a retry by hand': ({ store, ids }) => store.tasks.retryTask(ids[2]!),
  'a removal': ({ store, ids }) => store.tasks.removeTask(ids[5]!),
  'a pause': ({ store }) => store.admin.setPaused('default', true),
  'a pause of everything': ({ store }) => store.admin.setPaused(null, true),
}

describe.each(Object.entries(promised))('%s', (_, act) => {
  test('is on disk before it is answered', async () => {
    const on = await prepared()
    await act(on)
    expect(on.commits).toEqual([FULL])
  })

  test('is not synced with durability normal', async () => {
    const on = await prepared('normal')
    await act(on)
    expect(on.commits).toEqual([NORMAL])
  })
})

test('claims and plain completions are not synced: losing one means running it again', async () => {
  const { worker, claims, commits } = await prepared()
  await worker.complete(claims[0]!)
  await worker.claim(1)
  await worker.end('stop')
  expect(commits).toEqual([NORMAL, NORMAL, NORMAL])
})

test('what shares a commit with a promise is synced with it', async () => {
  const { store, worker, claims, commits } = await prepared()
  await Promise.all([
    worker.complete(claims[0]!),
    store.tasks.enqueue([newTask()]),
    worker.complete(claims[1]!),
  ])
  // The completion came first and was on its way when the promise was asked for.
  expect(commits.length).toBeLessThanOrEqual(2)
  expect(commits.at(-1)).toBe(FULL)
})

describe('enqueues at the same time', () => {
  test.each([
    { callers: 100, commitsMax: 1 },
    { callers: 1_000, commitsMax: 2 },
    { callers: 3_000, commitsMax: 4 },
  ])('share commits: $callers callers need at most $commitsMax', async ({ callers, commitsMax }) => {
    const path = freshPath()
    const store = await openStore(path)
    const before = commitsInLog(path)
    const answers = await Promise.all(Array.from({ length: callers }, () => store.tasks.enqueue([newTask()])))
    expect(answers.flat()).toHaveLength(callers)
    const commits = commitsInLog(path) - before
    expect(commits).toBeGreaterThan(0)
    expect(commits).toBeLessThanOrEqual(commitsMax)
  })

  test('share commits, as all that is asked for in one turn does: 100 cancels need 1', async () => {
    const path = freshPath()
    const store = await openStore(path)
    const tasks = await store.tasks.enqueue(Array.from({ length: 100 }, () => newTask()))
    const before = commitsInLog(path)
    await Promise.all(tasks.map(({ id }) => store.tasks.cancelTask(id)))
    expect(commitsInLog(path) - before).toBe(1)
  })

  test('share commits also when they ask again and again: 100 callers with 5 each need 5', async () => {
    const path = freshPath()
    const store = await openStore(path)
    const before = commitsInLog(path)
    const caller = async () => {
      for (let i = 0; i < 5; i++) await store.tasks.enqueue([newTask()])
    }
    await Promise.all(Array.from({ length: 100 }, caller))
    expect(commitsInLog(path) - before).toBe(5)
  })

  test.for(['full', 'normal'] as const)(
    'awaited one after the other, at %s, leave timers and sockets their turn',
    async (durability) => {
      const store = await openStore(freshPath(), { durability })
      let turned = false
      setImmediate(() => {
        turned = true
      })
      for (let i = 0; i < 10_000 && !turned; i++) await store.tasks.enqueue([newTask()])
      expect(turned).toBe(true)
    },
  )

  test('one by one, each has a commit of its own', async () => {
    const path = freshPath()
    const store = await openStore(path)
    const before = commitsInLog(path)
    for (let i = 0; i < 10; i++) await store.tasks.enqueue([newTask()])
    expect(commitsInLog(path) - before).toBe(10)
  })
})
