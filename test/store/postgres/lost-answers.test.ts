import { describe, expect } from 'vitest'
import { defineTask, type Handle, StoreError } from '../../../src/index.ts'
import { counts } from '../../conformance/world.ts'
import { type Place, testMigrated as test } from './place.ts'
import type { Loss } from './proxy.ts'

const COMMIT = /^COMMIT$/
const HANDING_IN = /SET status = 'completed'/
/** Everything at once, the completions among it. */
const IN_ONE_JOURNEY = /AS kept.*SET session = \$3, fence = fence.value.*SET status = 'completed'/s
const CLAIMING = /SET session = \$3, fence = fence.value/
const LOSSES: readonly [Loss, string][] = [
  ['answer', 'whose answer is lost'],
  ['question', 'that never arrives'],
]

/** A task that remembers its runs, and waits for `gate` when there is one. */
function counting(gate?: Promise<void>) {
  const runs: string[] = []
  const task = defineTask({
    name: 'count',
    async run(_: undefined, ctx) {
      runs.push(ctx.id)
      await gate
      return ctx.id
    },
  })
  return { task, runs }
}

async function everyTask(place: Place) {
  return place.rows('SELECT id::text, status, attempts, fence FROM gleaner.tasks ORDER BY id')
}

describe('an exchange that hands in and claims', () => {
  test.for(LOSSES)('%s: a commit %s runs nothing twice and loses nothing', async ([loss], { place }) => {
    const proxy = await place.proxy()
    const gate = Promise.withResolvers<void>()
    const { task, runs } = counting(gate.promise)
    const engine = await place.open({ database: proxy.url, tasks: [task] })
    const problems: unknown[] = []
    engine.on('problem', ({ error }) => problems.push(error))
    const told: string[] = []
    engine.on('completed', ({ id }) => told.push(id))
    const taken: string[] = []
    engine.on('claim-lost', ({ id }) => taken.push(id))
    const handles = await engine.enqueueMany(task, Array(30).fill(undefined))
    const results = Promise.all(handles.map((handle) => handle.result()))
    const worker = engine.work({ concurrency: 3 })
    await place.until('three run', () => runs.length === 3)

    const [first, second, third] = runs
    const left = Promise.withResolvers<Awaited<ReturnType<typeof everyTask>>>()
    const lost = proxy.lose(loss, COMMIT, CLAIMING, async () => left.resolve(await everyTask(place)))
    gate.resolve()
    await lost
    const claimedUnknown = (await left.promise).filter(
      ({ id, fence }) => fence && !runs.slice(0, 3).includes(id),
    )
    const completed = (await left.promise).filter(({ status }) => status === 'completed')
    // What the worker does not know: committed, it has new claims; rolled back, its results are not in.
    expect(claimedUnknown.length > 0).toBe(loss === 'answer')
    expect(completed.length > 0).toBe(loss === 'answer')

    await worker.drained()
    expect(await results).toEqual(handles.map(({ id }) => id))
    expect([...runs].sort()).toEqual(handles.map(({ id }) => id).sort())
    expect(runs.slice(0, 3)).toEqual([first, second, third])
    expect(await engine.tasks.counts()).toEqual(counts({ completed: 30 }))
    expect((await everyTask(place)).map(({ attempts }) => attempts)).toEqual(Array(30).fill(1))
    // Also of those whose answer was lost.
    expect(told.sort()).toEqual(handles.map(({ id }) => id).sort())
    expect(taken).toEqual([])
    expect(problems).toEqual([expect.any(StoreError)])
    expect(problems).toMatchObject([{ code: 'STORE_AWAY' }])
  })

  test.for(LOSSES)('%s: one in a single journey, too, %s', async ([loss], { place }) => {
    const proxy = await place.proxy()
    const { task, runs } = counting()
    const engine = await place.open({ database: proxy.url, tasks: [task] })
    const problems: unknown[] = []
    engine.on('problem', ({ error }) => problems.push(error))
    const told: string[] = []
    engine.on('completed', ({ id }) => told.push(id))
    const worker = engine.work({ concurrency: 3 })
    // From the second on it knows what is usual.
    for (let n = 0; n < 3; n++) await (await engine.enqueue(task)).result()
    const lost = proxy.lose(loss, COMMIT, IN_ONE_JOURNEY)
    const handles = await engine.enqueueMany(task, Array(30).fill(undefined))
    await lost
    await worker.drained()
    await Promise.all(handles.map((handle) => handle.result()))
    expect(new Set(runs).size).toBe(33)
    expect(runs).toHaveLength(33)
    expect(told.sort()).toEqual([...runs].sort())
    expect((await everyTask(place)).map(({ attempts }) => attempts)).toEqual(Array(33).fill(1))
    expect(problems).toMatchObject([{ code: 'STORE_AWAY' }])
  })

  test('what the lost exchange claimed goes back, and another worker runs it', async ({ place }) => {
    const proxy = await place.proxy()
    const near = counting()
    const far = counting()
    const cut = await place.open({ database: proxy.url, tasks: [near.task] })
    const whole = await place.open({ tasks: [far.task], timings: { idleMin: '1m', idleMax: '1m' } })
    cut.on('problem', () => {})
    await whole.pause()
    const handles = await whole.enqueueMany(far.task, Array(5).fill(undefined))
    const lost = proxy.lose('answer', COMMIT, CLAIMING, async () => {
      expect(near.runs).toEqual([])
      expect((await everyTask(place)).map(({ status }) => status)).toEqual(Array(5).fill('running'))
      whole.work({ concurrency: 5 })
    })
    cut.work({ concurrency: 5 })
    await whole.resume()
    await lost
    await Promise.all(handles.map((handle) => handle.result({ timeout: '30s' })))
    expect([...near.runs, ...far.runs].sort()).toEqual(handles.map(({ id }) => id).sort())
    expect((await everyTask(place)).map(({ attempts }) => attempts)).toEqual(Array(5).fill(1))
  })

  test('a failure whose commit lost its answer is charged once', async ({ place }) => {
    const proxy = await place.proxy()
    let runs = 0
    const failing = defineTask({
      name: 'fail',
      retry: { attempts: 2, base: '1ms' },
      run() {
        runs += 1
        throw new Error('no')
      },
    })
    const engine = await place.open({ database: proxy.url, tasks: [failing] })
    engine.on('problem', () => {})
    const lost = proxy.lose('answer', COMMIT, /INSERT INTO \S+attempts/)
    const handle = await engine.enqueue(failing)
    engine.work()
    await lost
    await expect(handle.result()).rejects.toMatchObject({ kind: 'error' })
    expect(runs).toBe(2)
    expect(await engine.tasks.attempts(handle.id)).toMatchObject([{ attempt: 1 }, { attempt: 2 }])
    expect(await engine.tasks.counts()).toEqual(counts({ failed: 1 }))
  })

  test('log lines handed in with it are kept once', async ({ place }) => {
    const proxy = await place.proxy()
    const talking = defineTask({
      name: 'talk',
      run(_: undefined, ctx) {
        ctx.log.info('once')
      },
    })
    const engine = await place.open({ database: proxy.url, tasks: [talking] })
    engine.on('problem', () => {})
    const lost = proxy.lose('answer', COMMIT, HANDING_IN)
    const handle = await engine.enqueue(talking)
    const worker = engine.work()
    await lost
    await handle.result()
    await worker.drained()
    expect((await engine.tasks.logs(handle.id)).items).toMatchObject([{ message: 'once' }])
  })
})

describe('ctx.complete', () => {
  test.for(LOSSES)('%s: with a commit %s the effects are there exactly once', async ([loss], { place }) => {
    const proxy = await place.proxy()
    await place.createSchema()
    await place.rows('CREATE TABLE gleaner.effects (text text)')
    let runs = 0
    const noting = defineTask({
      name: 'note',
      retry: { attempts: 3, base: '1ms' },
      run(_: undefined, ctx) {
        runs += 1
        return ctx.complete('noted', (tx: any) =>
          tx.query(`INSERT INTO ${place.schema}.effects VALUES ('a note')`),
        )
      },
    })
    const engine = await place.open({ database: proxy.url, tasks: [noting] })
    engine.on('problem', () => {})
    const lost = proxy.lose(loss, COMMIT, /INSERT INTO \S+effects/)
    const handle: Handle<string> = await engine.enqueue(noting)
    const worker = engine.work()
    await lost
    expect(await handle.result()).toBe('noted')
    await worker.drained()
    expect(await place.rows('SELECT text FROM gleaner.effects')).toEqual([{ text: 'a note' }])
    expect(runs).toBe(loss === 'answer' ? 1 : 2)
    expect(await engine.tasks.counts()).toEqual(counts({ completed: 1 }))
    expect(await engine.tasks.get(handle.id)).toMatchObject({ status: 'completed', error: null })
  })
})

describe('enqueue', () => {
  test.for(LOSSES)(
    '%s: a call %s is refused with a code, and made at most one task',
    async ([loss], { place }) => {
      const proxy = await place.proxy()
      const { task } = counting()
      const engine = await place.open({ database: proxy.url, tasks: [task] })
      await engine.enqueue(task)
      const lost = proxy.lose(loss, /INSERT INTO \S+tasks/)
      const failed = await engine.enqueue(task).catch((error) => error)
      await lost
      expect(failed).toBeInstanceOf(StoreError)
      expect(failed).toMatchObject({ code: 'STORE_AWAY', hint: expect.any(String) })
      expect(await engine.tasks.counts()).toEqual(counts({ queued: loss === 'answer' ? 2 : 1 }))
    },
  )

  test.for(LOSSES)(
    '%s: callers that shared a statement %s all hear of it, and nothing is there twice',
    async ([loss], { place }) => {
      const proxy = await place.proxy()
      const { task } = counting()
      const engine = await place.open({ database: proxy.url, tasks: [task] })
      await engine.enqueue(task)
      const lost = proxy.lose(loss, /INSERT INTO \S+tasks/)
      const calls = await Promise.allSettled(Array.from({ length: 20 }, () => engine.enqueue(task)))
      await lost
      expect(calls.map(({ status }) => status)).toEqual(Array(20).fill('rejected'))
      for (const call of calls) expect(call).toMatchObject({ reason: { code: 'STORE_AWAY' } })
      expect(await engine.tasks.counts()).toEqual(counts({ queued: loss === 'answer' ? 21 : 1 }))
    },
  )

  test.for(LOSSES)(
    '%s: with a key, after a commit %s, the second call names the one there is',
    async ([loss], { place }) => {
      const proxy = await place.proxy()
      const { task } = counting()
      const engine = await place.open({ database: proxy.url, tasks: [task] })
      const lost = proxy.lose(loss, COMMIT, /hashtextextended\(key/)
      await engine.enqueue(task, undefined, { key: 'k' }).then(
        () => expect.unreachable(),
        (error) => expect(error).toMatchObject({ code: 'STORE_AWAY' }),
      )
      await lost
      const again = await engine.enqueue(task, undefined, { key: 'k' })
      expect(again.created).toBe(loss === 'question')
      expect(await engine.tasks.counts()).toEqual(counts({ queued: 1 }))
    },
  )
})
