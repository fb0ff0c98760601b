import type { ClaimProof } from '../../src/store/ports/exchange.ts'
import type { AwaitedSignal } from '../../src/store/ports/steps.ts'
import type { Claimant } from './claimant.ts'
import { DONE, rowWorker, withFiles } from './row-worker.ts'
import type { Theme } from './theme.ts'
import { counts, newTask, type World } from './world.ts'

const DAY_MS = 86_400_000

interface Waiting {
  name?: string
  number?: number
  timeoutMs?: number | null
}

function awaitSignal(
  world: World,
  session: string,
  { id, fence }: ClaimProof,
  { name = 'approval', number = 1, timeoutMs = null }: Waiting = {},
): Promise<AwaitedSignal | null> {
  const run = { name, number, attempt: 1, startedAt: world.clock.now(), timeoutMs }
  return world.store.steps.awaitSignal(session, { claim: { id, fence }, ...run })
}

/** What the run ends with when nothing has come. */
function waits({ name = 'approval', number = 1 }: Waiting, answer: AwaitedSignal | null) {
  if (answer?.kind !== 'waits') throw new Error(`it does not wait: ${JSON.stringify(answer)}`)
  const { until, leftMs } = answer
  return { kind: 'waits', waits: [{ kind: 'signal', name, number, until }], afterMs: leftMs } as const
}

/** The next task runs up to its wait, and is suspended. */
async function suspend(world: World, worker: Claimant, some: Waiting = {}): Promise<string> {
  const claim = await worker.claimOne()
  await worker.settle(claim, waits(some, await awaitSignal(world, worker.session, claim, some)))
  return claim.id
}

function send(world: World, item: string, payload: string | null = '{"by":"ada"}', name = 'approval') {
  return world.store.steps.sendSignal({ to: { item }, name, payload })
}

export const suspending: Theme = (specify, expect) => {
  specify(
    'a suspended task has no slot, no lease and no attempt, and its signal makes it due',
    async (world) => {
      const id = await world.enqueue()
      const worker = await world.worker()
      await suspend(world, worker)
      expect(await world.task(id)).toMatchObject({ status: 'suspended', attempts: 0, runAfter: null })
      expect(await world.counts()).toEqual(counts({ suspended: 1 }))
      expect(await world.store.steps.waitsOf(id)).toEqual([
        { kind: 'signal', name: 'approval', number: 1, since: world.clock.now(), until: null },
      ])
      world.clock.advance(100 * DAY_MS)
      expect(await worker.claim()).toEqual([])
      await worker.end('crash')
      expect(await world.task(id)).toMatchObject({ status: 'suspended', crashes: 0 })

      expect(await send(world, id)).toBe('resumes')
      expect(await world.counts()).toEqual(counts({ queued: 1 }))
      expect(await world.store.steps.waitsOf(id)).toEqual([])
      const heir = await world.worker({ worker: 'worker:heir:0' })
      const again = await heir.claimOne()
      expect(again).toMatchObject({ id, attempt: 1 })
      const taken = { kind: 'signal', value: '{"by":"ada"}' }
      expect(await awaitSignal(world, heir.session, again)).toEqual(taken)
      expect(await world.store.steps.signalsOf(id)).toEqual([])
      expect((await world.store.tasks.taskAttempts(id)).map(({ outcome }) => outcome)).toEqual([
        'suspended',
        'running',
      ])
    },
  )

  specify(
    'a signal that was sent before the wait is kept, and each is taken once, in order',
    async (world) => {
      const id = await world.enqueue()
      for (const payload of ['1', '2']) expect(await send(world, id, payload)).toBe('kept')
      const worker = await world.worker()
      const claim = await worker.claimOne()
      expect(await send(world, id, '3')).toBe('kept')
      const values = []
      for (const number of [1, 2, 3, 1])
        values.push(await awaitSignal(world, worker.session, claim, { number }))
      expect(values).toEqual(['1', '2', '3', '1'].map((value) => ({ kind: 'signal', value })))
      expect(await awaitSignal(world, worker.session, claim, { number: 4 })).toMatchObject({ kind: 'waits' })
      expect(await awaitSignal(world, worker.session, claim, { name: 'other' })).toMatchObject({
        kind: 'waits',
      })
    },
  )

  specify('waits of one run that ask at the same time take a signal each', async (world) => {
    const id = await world.enqueue()
    const numbers = Array.from({ length: 8 }, (_, n) => n + 1)
    for (const number of numbers.slice(1)) await send(world, id, String(number))
    const worker = await world.worker()
    const claim = await worker.claimOne()
    const answers = await Promise.all(
      numbers.map((number) => awaitSignal(world, worker.session, claim, { number })),
    )
    const taken = answers.flatMap((answer) => (answer?.kind === 'signal' ? [answer.value!] : []))
    expect(taken.toSorted()).toEqual([...new Set(taken)].toSorted())
    const left = (await world.store.steps.signalsOf(id)).map(({ payload }) => payload!)
    expect([...taken, ...left].toSorted()).toEqual(numbers.slice(1).map(String))
  })

  specify(
    'a signal that comes between the wait and the end of the run makes the task due at once',
    async (world) => {
      const id = await world.enqueue()
      const worker = await world.worker()
      const claim = await worker.claimOne()
      const outcome = waits({}, await awaitSignal(world, worker.session, claim))
      expect(await send(world, id, '1')).toBe('kept')
      await worker.settle(claim, outcome)
      expect(await world.counts()).toEqual(counts({ queued: 1 }))
      expect(await world.store.steps.waitsOf(id)).toEqual([])
      const again = await worker.claimOne()
      expect(await awaitSignal(world, worker.session, again)).toEqual({ kind: 'signal', value: '1' })
    },
  )

  specify('a wait that times out is due like a scheduled task, and stays timed out', async (world) => {
    const id = await world.enqueue()
    const worker = await world.worker()
    await suspend(world, worker, { timeoutMs: 60_000 })
    const runAfter = world.clock.now() + 60_000
    expect(await world.task(id)).toMatchObject({ status: 'suspended', runAfter })
    const idle = await worker.take()
    expect([idle.claims.length, idle.nextDueInMs]).toEqual([0, 60_000])
    world.clock.advance(60_000)
    expect(await world.counts()).toEqual(counts({ queued: 1 }))
    const claim = await worker.claimOne()
    expect(claim).toMatchObject({ id, attempt: 1 })
    expect(await world.counts()).toEqual(counts({ running: 1 }))
    expect(await world.store.steps.waitsOf(id)).toEqual([])
    const timeoutMs = 60_000
    expect(await awaitSignal(world, worker.session, claim, { timeoutMs })).toEqual({ kind: 'timeout' })
    // What comes now is for the next wait of that name.
    expect(await send(world, id, '2')).toBe('kept')
    expect(await awaitSignal(world, worker.session, claim, { timeoutMs })).toEqual({ kind: 'timeout' })
    expect(await awaitSignal(world, worker.session, claim, { number: 2 })).toEqual({
      kind: 'signal',
      value: '2',
    })
  })

  specify('a time-out counts from the first time, whatever happens to the run', async (world) => {
    await world.enqueue()
    const worker = await world.worker()
    const first = await worker.claimOne()
    await awaitSignal(world, worker.session, first, { timeoutMs: 60_000 })
    await worker.giveBack(first)
    world.clock.advance(50_000)
    const second = await worker.claimOne()
    const answer = await awaitSignal(world, worker.session, second, { timeoutMs: 60_000 })
    expect(answer).toEqual({ kind: 'waits', until: world.clock.now() + 10_000, leftMs: 10_000 })
  })

  specify('a signal that comes before a worker sees the time-out is taken', async (world) => {
    const id = await world.enqueue()
    const worker = await world.worker()
    await suspend(world, worker, { timeoutMs: 1_000 })
    world.clock.advance(5_000)
    expect(await send(world, id, '1')).toBe('resumes')
    const claim = await worker.claimOne()
    expect(await awaitSignal(world, worker.session, claim)).toEqual({ kind: 'signal', value: '1' })
  })

  specify('the first of several waits that comes resumes the task', async (world) => {
    const id = await world.enqueue()
    const worker = await world.worker()
    const claim = await worker.claimOne()
    const both = []
    for (const name of ['approval', 'refusal']) {
      const answer = await awaitSignal(world, worker.session, claim, { name })
      both.push(...waits({ name }, answer).waits)
    }
    await worker.settle(claim, { kind: 'waits', waits: both, afterMs: null })
    expect((await world.store.steps.waitsOf(id)).map(({ name }) => name)).toEqual(['approval', 'refusal'])
    expect(await send(world, id, '1', 'unknown')).toBe('kept')
    expect(await send(world, id, '2', 'refusal')).toBe('resumes')
    expect(await world.store.steps.waitsOf(id)).toEqual([])
    const again = await worker.claimOne()
    expect(await awaitSignal(world, worker.session, again, { name: 'approval' })).toMatchObject({
      kind: 'waits',
    })
    expect(await awaitSignal(world, worker.session, again, { name: 'refusal' })).toMatchObject({ value: '2' })
  })

  specify('a finished task and one that never was take no signal', async (world) => {
    const [completed, cancelled, removed] = await world.enqueueMany(3)
    const worker = await world.worker()
    await worker.complete(await worker.claimOne())
    await world.store.tasks.cancelTask(cancelled!)
    await world.store.tasks.removeTask(removed!)
    const answers = await Promise.all(
      [completed!, cancelled!, removed!, '999999'].map((id) => send(world, id)),
    )
    expect(answers).toEqual(['finished', 'finished', 'gone', 'gone'])
  })

  specify(
    'a suspended task is cancelled at once, is not retried, and is removed with all that is its',
    async (world) => {
      const [cancelled, removed] = await world.enqueueMany(2)
      const worker = await world.worker()
      for (const _ of [cancelled, removed]) await suspend(world, worker, { timeoutMs: DAY_MS })
      await send(world, removed!, '1', 'another')
      expect(await world.store.tasks.retryTask(cancelled!)).toBe('not-finished')
      expect(await world.store.tasks.cancelTask(cancelled!)).toBe('cancelled')
      expect(await world.store.steps.waitsOf(cancelled!)).toEqual([])
      expect(await world.counts()).toEqual(counts({ cancelled: 1, suspended: 1 }))
      expect(await world.store.tasks.removeTask(removed!)).toBe('removed')
      expect(await world.counts()).toEqual(counts({ cancelled: 1 }))
      expect(await world.store.steps.waitsOf(removed!)).toEqual([])
      expect(await world.store.steps.signalsOf(removed!)).toEqual([])
      world.clock.advance(2 * DAY_MS)
      expect(await worker.claim()).toEqual([])
    },
  )

  specify('a cancel that comes before the end of the run wins over the wait', async (world) => {
    const id = await world.enqueue()
    const worker = await world.worker()
    const claim = await worker.claimOne()
    const outcome = waits({}, await awaitSignal(world, worker.session, claim))
    expect(await world.store.tasks.cancelTask(id)).toBe('requested')
    await worker.settle(claim, outcome)
    expect(await world.counts()).toEqual(counts({ cancelled: 1 }))
  })

  specify('a suspended task keeps its key', async (world) => {
    const id = await world.enqueue({ key: 'k' })
    await suspend(world, await world.worker())
    const [held] = await world.store.tasks.enqueue([newTask({ key: 'k' })])
    expect(held).toEqual({ id, created: false })
    expect((await world.list({ key: 'k', status: 'suspended' })).map((task) => task.id)).toEqual([id])
    // Its run has begun with its input, so that another one follows it.
    const whenHeld = { kind: 'debounce', ms: 1, maxWaitMs: null } as const
    const [follower] = await world.store.tasks.enqueue([newTask({ key: 'k', whenHeld })])
    expect(follower?.created).toBe(true)
    world.clock.advance(1_000)
    const worker = await world.worker({ worker: 'worker:next:0' })
    expect(await worker.claim()).toEqual([])
    await world.store.tasks.cancelTask(id)
    world.clock.advance(1_000)
    expect((await worker.claimOne()).id).toBe(follower!.id)
  })

  specify('a worker that lost its claim neither waits nor takes a signal', async (world) => {
    const id = await world.enqueue()
    await send(world, id, '1')
    const late = await world.worker()
    const claim = await late.claimOne()
    await late.end('lease')
    expect(await awaitSignal(world, late.session, claim)).toBe(null)
    await late.settle(claim, { kind: 'waits', waits: [], afterMs: null })
    expect(await world.counts()).toEqual(counts({ queued: 1 }))
    expect(await world.store.steps.signalsOf(id)).toMatchObject([{ name: 'approval', payload: '1' }])
    expect(await world.store.steps.stepsOf(id)).toEqual([])
  })

  specify('pruning leaves what is suspended', async (world) => {
    const id = await world.enqueue()
    await suspend(world, await world.worker())
    world.clock.advance(DAY_MS)
    const all = { ageMs: 0, count: null }
    await world.store.maintenance.pruneTasks({ completed: all, failed: all, cancelled: all }, { limit: 100 })
    expect(await world.task(id)).toMatchObject({ status: 'suspended' })
    expect(await world.store.maintenance.check()).toEqual([])
  })

  specify('explain says what a suspended task waits for, and until when', async (world) => {
    const id = await world.enqueue()
    await suspend(world, await world.worker(), { timeoutMs: DAY_MS })
    const at = await world.store.tasks.circumstancesOf(id)
    const until = world.clock.now() + DAY_MS
    expect(at?.waits).toMatchObject([{ kind: 'signal', name: 'approval', until }])
  })
}

export const suspendedRows: Theme = (specify, expect) => {
  const stateOf = async (world: World) => (await world.store.rows.getRow('tag-files', '1'))?.state

  specify('a row that waits is suspended, and its signal makes it due', async (world) => {
    await withFiles(world, 1)
    const worker = await rowWorker(world)
    const claim = await worker.claimOne()
    const outcome = waits({}, await awaitSignal(world, worker.session, claim))
    expect(await worker.settle(claim, outcome)).toEqual({ kind: 'suspended' })
    expect(await world.store.rows.getRow('tag-files', '1')).toMatchObject({
      state: 'suspended',
      attempts: 0,
      nextAt: null,
    })
    expect(await world.store.rows.countRows('tag-files')).toMatchObject({
      suspended: 1,
      waiting: 0,
      backingOff: 0,
    })
    expect((await world.store.rows.rowCircumstances('tag-files', '1')).waits).toMatchObject([
      { name: 'approval' },
    ])
    world.clock.advance(100 * DAY_MS)
    const idle = await worker.take()
    expect([idle.claims.length, idle.nextDueInMs]).toEqual([0, null])
    expect(await world.store.maintenance.check()).toEqual([])

    expect(await send(world, claim.id, '1')).toBe('resumes')
    expect(await stateOf(world)).toBe('waiting')
    const again = await worker.claimOne()
    expect((await world.store.steps.openSteps(worker.session, again))?.steps).toMatchObject([
      { name: 'approval', kind: 'signal', value: '1' },
    ])
    expect(await awaitSignal(world, worker.session, again)).toEqual({ kind: 'signal', value: '1' })
    expect(await worker.completeWith(again, () => {}, DONE)).toMatchObject({ kind: 'done' })
    expect(await world.store.steps.stepsOf(claim.id)).toEqual([])
  })

  specify('the wait of a row times out', async (world) => {
    await withFiles(world, 1)
    const worker = await rowWorker(world)
    const claim = await worker.claimOne()
    const timeoutMs = 60_000
    const outcome = waits({}, await awaitSignal(world, worker.session, claim, { timeoutMs }))
    await worker.settle(claim, outcome)
    const nextAt = world.clock.now() + timeoutMs
    expect(await world.store.rows.getRow('tag-files', '1')).toMatchObject({ state: 'suspended', nextAt })
    world.clock.advance(timeoutMs)
    const again = await worker.claimOne()
    await world.store.steps.openSteps(worker.session, again)
    expect(await world.store.steps.waitsOf(claim.id)).toEqual([])
    expect(await awaitSignal(world, worker.session, again, { timeoutMs })).toEqual({ kind: 'timeout' })
  })

  specify(
    'a signal that comes between the wait and the end of the run of a row is not lost',
    async (world) => {
      await withFiles(world, 1)
      const worker = await rowWorker(world)
      const claim = await worker.claimOne()
      const outcome = waits({}, await awaitSignal(world, worker.session, claim))
      expect(await send(world, claim.id, '1')).toBe('kept')
      expect(await worker.settle(claim, outcome)).toEqual({ kind: 'returned', afterMs: 0 })
      const again = await worker.claimOne()
      expect(await awaitSignal(world, worker.session, again)).toEqual({ kind: 'signal', value: '1' })
    },
  )

  specify('an edit of a suspended row drops its steps, its waits and its signals', async (world) => {
    await withFiles(world, 1)
    const worker = await rowWorker(world)
    const claim = await worker.claimOne()
    const outcome = waits({}, await awaitSignal(world, worker.session, claim))
    await worker.settle(claim, outcome)
    expect(await send(world, claim.id, '1', 'another')).toBe('kept')
    await world.database.tables.run(`UPDATE files SET path = 'edited'`)
    expect(await stateOf(world)).toBe('waiting')
    const again = await worker.claimOne()
    expect((await world.store.steps.openSteps(worker.session, again))?.steps).toEqual([])
    expect(await world.store.steps.waitsOf(claim.id)).toEqual([])
    expect(await world.store.steps.signalsOf(claim.id)).toEqual([])
  })

  specify('a row that is edited while it runs up to its wait stays eligible', async (world) => {
    await withFiles(world, 1)
    const worker = await rowWorker(world)
    const claim = await worker.claimOne()
    const outcome = waits({}, await awaitSignal(world, worker.session, claim))
    await world.database.tables.run(`UPDATE files SET path = 'edited'`)
    expect(await worker.settle(claim, outcome)).toMatchObject({ kind: 'changed' })
    expect(await stateOf(world)).toBe('waiting')
  })

  specify('a suspended row is retried by hand at once', async (world) => {
    await withFiles(world, 1)
    const worker = await rowWorker(world)
    const claim = await worker.claimOne()
    await worker.settle(claim, waits({}, await awaitSignal(world, worker.session, claim)))
    expect(await world.store.rows.retryRow('tag-files', '1')).toBe('retried')
    expect((await worker.claimOne()).id).toBe(claim.id)
  })
}
