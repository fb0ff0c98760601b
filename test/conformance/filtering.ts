import type { TaskFilter } from '../../src/store/ports/tasks.ts'
import type { Theme } from './theme.ts'
import { idsOf, newTask, type World } from './world.ts'

export const filtering: Theme = (specify, expect) => {
  specify('tasks are found by their key, in whatever status, of one name or of all', async (world) => {
    const old = await world.enqueue({ key: 'k' })
    const worker = await world.worker({ names: ['job', 'other'] })
    await worker.complete(await worker.claimOne())
    const active = await world.enqueue({ key: 'k' })
    const namesake = await world.enqueue({ key: 'k', name: 'other', runAfter: { ms: 1_000 } })
    await world.enqueue({ key: 'k2' })
    await world.enqueue({ key: 'job/k' })
    await world.enqueue()
    expect(idsOf(await world.list({ key: 'k' }))).toEqual([namesake, active, old])
    expect(idsOf(await world.list({ key: 'k', name: 'job' }))).toEqual([active, old])
    expect(idsOf(await world.list({ key: 'k', status: 'completed' }))).toEqual([old])
    expect(idsOf(await world.list({ key: 'k', status: 'queued' }))).toEqual([active])
    expect(idsOf(await world.list({ key: 'k', status: 'scheduled' }))).toEqual([namesake])
    world.clock.advance(1_000)
    expect(idsOf(await world.list({ key: 'k', status: 'queued' }, 1))).toEqual([namesake, active])
    expect(await world.list({ key: 'nobody' })).toEqual([])
  })

  specify('tasks are found by when they were created: from then on, and until just before', async (world) => {
    const start = world.clock.now()
    const ids: string[] = []
    for (let i = 0; i < 5; i++) {
      ids.push(await world.enqueue({ runAfter: i % 2 ? { ms: 10_000 } : null }))
      world.clock.advance(100)
    }
    const [, b, c, d] = ids
    const range = { createdAfter: start + 100, createdBefore: start + 400 }
    expect(idsOf(await world.list(range, 2))).toEqual([d, c, b])
    expect(idsOf(await world.list({ ...range, status: 'scheduled' }, 1))).toEqual([b, d])
    expect(idsOf(await world.list({ ...range, status: 'queued' }, 1))).toEqual([c])
    expect(await world.list({ createdAfter: world.clock.now() })).toEqual([])
  })

  specify('tasks are found by how long their attempt has run, and by when it started', async (world) => {
    const start = world.clock.now()
    const worker = await world.worker()
    const ids: string[] = []
    for (let i = 0; i < 4; i++) {
      await world.enqueue()
      const claim = await worker.claimOne()
      ids.push(claim.id)
      if (i === 0) await worker.complete(claim)
      world.clock.advance(100)
    }
    await world.enqueue()
    const [done, oldest, older] = ids
    const running = { status: 'running' } as const
    expect(idsOf(await world.list({ ...running, runningLongerThanMs: 100 }, 1))).toEqual([oldest, older])
    expect(idsOf(await world.list({ ...running, runningLongerThanMs: 200 }, 1))).toEqual([oldest])
    expect(await world.list({ ...running, runningLongerThanMs: 300 })).toEqual([])
    expect(idsOf(await world.list({ ...running, startedBefore: start + 200 }))).toEqual([oldest])
    expect(idsOf(await world.list({ startedBefore: start + 200 }, 1))).toEqual([oldest, done])
    expect(idsOf(await world.list({ startedBefore: start + 200, status: 'completed' }))).toEqual([done])
    expect(idsOf(await world.list({ startedBefore: start + 300, name: 'job' }, 1))).toEqual([
      older,
      oldest,
      done,
    ])
    expect(await world.list({ startedBefore: start })).toEqual([])
  })

  specify('tasks are found, counted and changed by what they require', async (world) => {
    const eu = await world.enqueue({ requires: { region: 'eu', format: 'flac' } })
    const limited = await world.enqueue({ requires: { region: 'eu' }, limitKey: 'a' })
    const us = await world.enqueue({ requires: { region: 'us', gpu: true, cores: 8 } })
    await world.enqueue()
    expect(idsOf(await world.list({ requires: { region: 'eu' } }))).toEqual([limited, eu])
    expect(idsOf(await world.list({ requires: { region: 'eu' }, status: 'queued' }))).toEqual([eu, limited])
    expect(idsOf(await world.list({ requires: { region: 'eu', format: 'flac' } }))).toEqual([eu])
    // As an address or a terminal says it.
    expect(idsOf(await world.list({ requires: { gpu: 'true', cores: '8' } }))).toEqual([us])
    expect(await world.list({ requires: { toString: 'x' } })).toEqual([])
    expect((await world.store.tasks.countTasks({ requires: { region: 'eu' } })).queued).toBe(2)
    const filter = { requires: { region: 'eu' }, status: 'queued' } as const
    const page = { limit: 10, cursor: null }
    await world.store.tasks.changeTasks({ change: 'cancel', filter, page, upTo: null, dryRun: null })
    expect((await world.store.tasks.countTasks({})).queued).toBe(2)
  })

  specify(
    'tasks are found by when they finished, the last first, with a status and without',
    async (world) => {
      await world.enqueueMany(4)
      const worker = await world.worker()
      const start = world.clock.now()
      const ends: string[] = []
      for (const [i, claim] of (await worker.claim(4)).entries()) {
        if (i % 2) await worker.fail(claim)
        else await worker.complete(claim)
        ends.push(claim.id)
        world.clock.advance(10)
      }
      await world.enqueueMany(2)
      const range = { finishedAfter: start + 10, finishedBefore: start + 40 }
      expect(idsOf(await world.list(range, 1))).toEqual([ends[3], ends[2], ends[1]])
      expect(idsOf(await world.list({ ...range, status: 'failed' }, 1))).toEqual([ends[3], ends[1]])
      expect(idsOf(await world.list({ finishedBefore: start + 10 }))).toEqual([ends[0]])
    },
  )

  specify(
    'tasks are found by text in the message of their error, and by nothing else of it',
    async (world) => {
      const failed = await fail(world, [
        'ECONNREFUSED 10.0.0.1',
        'no such file',
        'a "quoted" \\ line\nand another',
        'the message was empty',
        '100% of _everything_',
        'nul \u0000 inside',
        'Ünicode',
      ])
      const [refused, noFile, quoted, empty, percent, nul, unicode] = failed
      const found = async (error: string, filter: TaskFilter = {}) =>
        idsOf(await world.list({ error, ...filter }, 2))
      expect(await found('econnrefused')).toEqual([refused])
      expect(await found('NO SUCH', { status: 'failed' })).toEqual([noFile])
      expect(await found('"quoted" \\ line\nand')).toEqual([quoted])
      // Words that every stored error holds somewhere.
      expect(await found('message')).toEqual([empty])
      expect(await found('stack')).toEqual([])
      expect(await found('%')).toEqual([percent])
      expect(await found('_')).toEqual([percent])
      expect(await found('nul \u0000')).toEqual([nul])
      expect(await found('Ünicode')).toEqual([unicode])
      expect(await found('no such', { name: 'other' })).toEqual([])
    },
  )

  specify('a page looks at a bounded number of tasks, and its next goes on from there', async (world) => {
    const wanted = await world.enqueue({ key: 'needle' })
    await world.enqueueMany(5_500)
    for (const filter of [{ key: 'needle' }, { createdBefore: world.clock.now() + 1, key: 'needle' }]) {
      const first = await world.store.tasks.listTasks(filter, { limit: 5, cursor: null })
      expect(first.items).toEqual([])
      expect(first.next).not.toBe(null)
      const second = await world.store.tasks.listTasks(filter, { limit: 5, cursor: first.next })
      expect(idsOf(second.items)).toEqual([wanted])
      expect(second.next).toBe(null)
    }
  })

  specify('scheduled tasks of one queue are found behind those of another', async (world) => {
    await world.store.tasks.enqueue(
      Array.from({ length: 1_500 }, () => newTask({ queue: 'busy', runAfter: { ms: 1_000 } })),
    )
    const wanted = await world.enqueue({ queue: 'quiet', runAfter: { ms: 5_000 } })
    expect(idsOf(await world.list({ status: 'scheduled', queue: 'quiet' }, 3))).toEqual([wanted])
  })
}

/** One task for each message, which it failed with. */
async function fail(world: World, messages: readonly string[]): Promise<string[]> {
  const worker = await world.worker()
  const ids: string[] = []
  for (const message of messages) {
    ids.push(await world.enqueue())
    const failure = { kind: 'error', message, stack: `Error: ${message}\n    at file.ts:1` } as const
    await worker.settle(await worker.claimOne(), { kind: 'failed', failure, retryAfterMs: null })
  }
  return ids
}
