import type { TaskStatus } from '../../src/model/task.ts'
import { type BulkOptions, changeAll } from '../../src/queue/bulk.ts'
import type { TaskQuery } from '../../src/queue/task-query.ts'
import type { BulkChange } from '../../src/store/ports/tasks.ts'
import type { Theme } from './theme.ts'
import { counts, idsOf, newTask, type World } from './world.ts'

export const changingMany: Theme = (specify, expect) => {
  const all = async ({ store }: World, change: BulkChange, query: TaskQuery, options?: BulkOptions) => {
    const { statuses, ...answer } = await changeAll(store.tasks, change, query, options)
    const ofAll = Object.values(statuses).reduce((sum, count) => sum + count, 0)
    expect(ofAll).toBe(answer.changed)
    return answer
  }
  const done = (changed: number, dryRun = false) => ({ changed, refused: 0, refusals: [], dryRun })

  specify('all that failed are retried, and nobody else', async (world) => {
    const [failed, completed] = [await finished(world, 'failed', 3), await finished(world, 'completed', 2)]
    const [other] = await finished(world, 'failed', 1, 'other')
    expect(await all(world, 'retry', { name: 'job' })).toEqual(done(3))
    expect(idsOf(await world.list({ status: 'queued' })).sort()).toEqual([...failed].sort())
    expect(idsOf(await world.list({ status: 'completed' })).sort()).toEqual([...completed].sort())
    expect(idsOf(await world.list({ status: 'failed' }))).toEqual([other])
    expect(await world.counts()).toEqual(counts({ queued: 3, completed: 2, failed: 1 }))
    expect(await world.task(failed[0]!)).toMatchObject({ attempts: 0, error: null, finishedAt: null })
  })

  specify('what has completed is run again only when that is asked for', async (world) => {
    const [id] = await finished(world, 'completed', 1)
    expect(await all(world, 'retry', { name: 'job' })).toEqual(done(0))
    expect(await all(world, 'retry', { status: 'completed' })).toEqual(done(1))
    expect((await world.store.tasks.taskAttempts(id!)).map(({ outcome }) => outcome)).toEqual(['completed'])
    expect(await world.counts()).toEqual(counts({ queued: 1 }))
  })

  specify(
    'those whose key another holds are left alone, counted and told; of twins one is retried',
    async (world) => {
      const [held] = await finished(world, 'failed', 1, 'job', 'held')
      const holder = await world.enqueue({ key: 'held', runAfter: { ms: 60_000 } })
      const [older] = await finished(world, 'failed', 1, 'job', 'twin')
      world.clock.advance(1)
      const [younger] = await finished(world, 'failed', 1, 'job', 'twin')
      const answer = {
        changed: 1,
        refused: 2,
        refusals: [
          { id: older, reason: 'key-held', by: younger },
          { id: held, reason: 'key-held', by: holder },
        ],
      }
      expect(await all(world, 'retry', { status: 'failed' }, { dryRun: true })).toEqual({
        ...answer,
        dryRun: true,
      })
      expect(await world.counts()).toEqual(counts({ failed: 3, scheduled: 1 }))
      expect(await all(world, 'retry', { status: 'failed' })).toEqual({ ...answer, dryRun: false })
      expect(await world.counts()).toEqual(counts({ failed: 2, queued: 1, scheduled: 1 }))
    },
  )

  specify('a change says of which statuses the tasks were that it changed', async (world) => {
    await finished(world, 'failed', 3)
    await finished(world, 'completed', 2)
    await world.enqueue()
    const statuses = { completed: 2, failed: 3 }
    const { tasks } = world.store
    expect(await changeAll(tasks, 'remove', {}, { all: true, dryRun: true })).toMatchObject({ statuses })
    expect(await changeAll(tasks, 'remove', {}, { all: true })).toMatchObject({ statuses })
    expect(await changeAll(tasks, 'remove', {}, { all: true })).toMatchObject({ changed: 0, statuses: {} })
    expect(await changeAll(tasks, 'cancel', { status: 'queued' })).toMatchObject({ statuses: { queued: 1 } })
  })

  specify('what has run for too long is cancelled, and what started just now runs on', async (world) => {
    const worker = await world.worker()
    await world.enqueueMany(2)
    const slow = await worker.claimOne()
    world.clock.advance(60_001)
    const fresh = await worker.claimOne()
    const [waiting] = await world.enqueueMany(1)
    expect(await all(world, 'cancel', { runningLongerThan: '1m' })).toEqual(done(1))
    expect((await worker.exchange({})).cancels).toEqual([slow.id])
    await worker.settle(slow, { kind: 'cancelled' })
    // Its time of starting is read in the same step that changes it.
    expect(await all(world, 'cancel', { startedBefore: world.clock.now() })).toEqual(done(0))
    world.clock.advance(1)
    expect(await all(world, 'cancel', { startedBefore: world.clock.now() }, { dryRun: true })).toEqual(
      done(1, true),
    )
    expect(await world.task(fresh.id)).toMatchObject({ status: 'running' })
    expect(await world.task(waiting!)).toMatchObject({ status: 'queued' })
  })

  specify('all that is unfinished is cancelled, and who runs it is asked to stop', async (world) => {
    const crashing = await world.worker()
    await world.enqueueMany(2)
    await crashing.claim(2)
    await crashing.end('crash')
    const worker = await world.worker()
    await world.enqueueMany(2, { name: 'mine' })
    const mine = await world.worker({ names: ['mine'] })
    const [running, ahead] = await mine.claim(1, 1)
    await world.enqueueMany(3)
    await world.enqueueMany(2, { runAfter: { ms: 100 } })
    await world.enqueueMany(2, { runAfter: { ms: 10 } })
    world.clock.advance(10)
    await finished(world, 'completed', 1, 'past')
    expect(await all(world, 'cancel', {}, { all: true, dryRun: true })).toEqual(done(11, true))
    expect(await all(world, 'cancel', {}, { all: true })).toEqual(done(11))
    expect(await world.counts()).toEqual(counts({ cancelled: 9, queued: 1, running: 1, completed: 1 }))
    expect((await mine.exchange({})).cancels.sort()).toEqual([running!.id, ahead!.id].sort())
    expect(await all(world, 'cancel', {}, { all: true })).toEqual(done(0))
    expect(await worker.claim(10)).toEqual([])
  })

  specify(
    'all that has finished is removed with its history; what waits only when that is asked for',
    async (world) => {
      const [failed] = await finished(world, 'failed', 2)
      await finished(world, 'completed', 1)
      await world.enqueueMany(2, { name: 'waiting' })
      expect(await all(world, 'remove', {}, { all: true, dryRun: true })).toEqual(done(3, true))
      expect(await all(world, 'remove', {}, { all: true })).toEqual(done(3))
      expect(await world.store.tasks.getTask(failed!)).toBe(null)
      expect(await world.store.tasks.taskAttempts(failed!)).toEqual([])
      expect(await world.counts()).toEqual(counts({ queued: 2 }))
      const worker = await world.worker({ names: ['waiting'] })
      const [ahead] = await worker.claim(0, 1)
      const answer = { changed: 1, refused: 1, refusals: [{ id: ahead!.id, reason: 'running', by: null }] }
      expect(await all(world, 'remove', { status: 'queued' }, { dryRun: true })).toEqual({
        ...answer,
        dryRun: true,
      })
      expect(await all(world, 'remove', { status: 'queued' })).toEqual({ ...answer, dryRun: false })
      expect(await world.counts()).toEqual(counts({ queued: 1 }))
    },
  )

  specify('what the filter does not name is not touched', async (world) => {
    const start = world.clock.now()
    const [old] = await finished(world, 'failed', 1)
    world.clock.advance(100)
    await finished(world, 'failed', 1)
    expect(await all(world, 'retry', { finishedBefore: start + 100, error: 'no' })).toEqual(done(1))
    expect(idsOf(await world.list({ status: 'queued' }))).toEqual([old])
    expect(await all(world, 'remove', { error: 'something else' })).toEqual(done(0))
    expect(await all(world, 'cancel', { createdBefore: start })).toEqual(done(0))
  })

  specify('a large change goes in steps, between which others work', async (world) => {
    await world.enqueueMany(900, { runAfter: { ms: 1_000 } })
    const worker = await world.worker({ names: ['urgent'] })
    const steps: number[] = []
    let urgent = 0
    const onProgress = ({ changed }: { changed: number }) => steps.push(changed)
    const cancelling = all(world, 'cancel', { status: 'scheduled' }, { onProgress })
    while (steps.length < 4) {
      await world.enqueue({ name: 'urgent' })
      urgent += (await worker.claim()).length
    }
    expect(await cancelling).toEqual(done(900))
    expect(urgent).toBeGreaterThan(0)
    expect(steps.map((changed, i) => changed - (steps[i - 1] ?? 0))).toEqual([250, 250, 250, 150])
  })

  specify('whoever is interrupted calls it again, and nothing is done twice', async (world) => {
    await finished(world, 'failed', 600)
    let steps = 0
    const interrupted = all(
      world,
      'retry',
      { status: 'failed' },
      {
        onProgress: () => {
          steps += 1
          if (steps === 2) throw new Error('interrupted')
        },
      },
    )
    await expect(interrupted).rejects.toMatchObject({ message: 'interrupted' })
    expect(await world.store.tasks.countTasks({})).toEqual(counts({ queued: 500, failed: 100 }))
    expect(await all(world, 'retry', { status: 'failed' })).toEqual(done(100))
    expect(await all(world, 'retry', { status: 'failed' })).toEqual(done(0))
    expect(await world.store.tasks.countTasks({})).toEqual(counts({ queued: 600 }))
  })

  specify('tasks that come while it goes on are left alone', async (world) => {
    await world.enqueueMany(600)
    const later: Promise<string[]>[] = []
    const onProgress = () => {
      if (later.length < 5) later.push(world.enqueueMany(50))
    }
    expect(await all(world, 'cancel', { status: 'queued' }, { onProgress })).toEqual(done(600))
    const ids = (await Promise.all(later)).flat()
    expect(ids.length).toBeGreaterThan(0)
    expect(await world.store.tasks.countTasks({})).toEqual(counts({ cancelled: 600, queued: ids.length }))
  })

  specify('two who change the same tasks at the same time change each once', async (world) => {
    const other = await world.database.open()
    await finished(world, 'failed', 700)
    const answers = await Promise.all([
      changeAll(world.store.tasks, 'retry', { status: 'failed' }),
      changeAll(other.tasks, 'retry', { status: 'failed' }),
    ])
    expect(answers.reduce((sum, { changed }) => sum + changed, 0)).toBe(700)
    expect(await world.store.tasks.countTasks({})).toEqual(counts({ queued: 700 }))
  })
}

/** New tasks that have ended like this. */
async function finished(
  world: World,
  status: TaskStatus & ('failed' | 'completed'),
  count: number,
  name = 'job',
  key: string | null = null,
): Promise<string[]> {
  const queue = `of-${name}`
  const ids = idsOf(
    await world.store.tasks.enqueue(
      Array.from({ length: count }, () => newTask({ name, key, queue, priority: 1 })),
    ),
  )
  const worker = await world.worker({ names: [name], queues: [queue] })
  const claims = await worker.claim(count)
  const failure = { kind: 'error', message: 'no', stack: null } as const
  const startedAt = world.clock.now()
  const outcome =
    status === 'completed'
      ? ({ kind: 'completed', result: null } as const)
      : ({ kind: 'failed', failure, retryAfterMs: null } as const)
  await worker.exchange({ outcomes: claims.map(({ id, fence }) => ({ id, fence, startedAt, outcome })) })
  await worker.end('stop')
  return ids
}
