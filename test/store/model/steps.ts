import { expect } from 'vitest'
import type { Outcome } from '../../../src/model/outcome.ts'
import type { Ordering } from '../../../src/model/queue.ts'
import type { EndCause } from '../../../src/model/session.ts'
import { changeAll } from '../../../src/queue/bulk.ts'
import type { BulkChange } from '../../../src/store/ports/tasks.ts'
import { newTask } from '../../conformance/world.ts'
import { type Act, Step } from '../step.ts'
import { expectAgreement } from './agreement.ts'
import type { ModelStore, ModelTask, Spec } from './model-store.ts'
import { newLife, type OldClaim, type RealStore, type Worker } from './real-store.ts'

export type StoreStep = Step<ModelStore, RealStore>

const step = (intent: string, act: Act<ModelStore, RealStore>) => new Step(intent, act, expectAgreement)

export const enqueue = (specs: readonly Spec[]) =>
  step(`enqueue ${specs.map(describe).join(', ')}`, async (model, real) => {
    const now = real.clock.now()
    const answers = await real.store.tasks.enqueue(
      specs.map(({ delayMs, forever, ...spec }) =>
        newTask({
          ...spec,
          keyScope: forever ? 'forever' : 'active',
          runAfter: delayMs ? { ms: delayMs } : null,
        }),
      ),
    )
    for (const [i, spec] of specs.entries()) {
      const { id, created } = answers[i]!
      const holder = model.holderOfKey(spec)
      if (holder === undefined) model.enqueue(spec, id, now)
      expect({ id, created }, 'enqueue').toEqual({ id: holder?.id ?? id, created: holder === undefined })
    }
    return `enqueue ${specs.map((spec, i) => `${answers[i]!.id} ${describe(spec)}`).join(', ')}`
  })

export const claim = (n: number, start: number, ahead: number) =>
  step(`worker:${n} claims ${start}+${ahead}`, async (model, real) => {
    const worker = workerAt(real, n)
    const empty = model.heldBy(worker.life).length === 0
    const expected = model.next(worker.able, worker.life, start + ahead, empty, real.clock.now())
    const claims = await worker.claimant.claim(start, ahead)
    expect(
      claims.map(({ id, attempt, started, suspect }) => ({ id, attempt, started, suspect })),
      `what ${worker.claimant.worker} claims`,
    ).toEqual(
      expected.map(({ id, attempts, suspect }, i) => ({
        id,
        attempt: attempts + 1,
        started: i < start,
        suspect,
      })),
    )
    for (const [i, task] of expected.entries()) {
      const { fence, started } = claims[i]!
      expect(fence, 'the fence').toBeGreaterThan(i === 0 ? real.lastFence : real.lastFence - 1)
      real.lastFence = fence
      model.hold(task, worker.life, fence, started)
      real.claims.push({ claim: claims[i]!, worker, session: worker.claimant.session, life: worker.life })
    }
    return `${worker.claimant.worker} claims ${start}+${ahead}: ${claims.map(({ id }) => id).join(' ') || 'nothing'}`
  })

export const settle = (pick: Pick, outcome: Outcome) =>
  withClaim(pick, outcome.kind, async (model, real, old, task) => {
    const { refused } = await asThen(old, () => old.worker.claimant.settle(old.claim, outcome))
    expect(refused, 'refused').toEqual(task === null ? [old.claim.id] : [])
    if (task !== null) model.settle(task, outcome, real.clock.now())
  })

export const start = (pick: Pick) =>
  withClaim(pick, 'start', async (_model, _real, old, task) => {
    const { refused } = await asThen(old, () => old.worker.claimant.start(old.claim))
    expect(refused, 'refused').toEqual(task === null ? [old.claim.id] : [])
    if (task !== null) task.holder!.started = true
  })

export const completeWith = (pick: Pick) =>
  withClaim(pick, 'complete with effects', async (model, real, old, task) => {
    const before = await real.database.notes.all()
    const effects = (tx: unknown) => real.database.notes.write(tx, old.claim.id)
    const done = await asThen(old, () => old.worker.claimant.completeWith(old.claim, effects))
    expect(done, 'completed').toBe(task !== null)
    expect(await real.database.notes.all()).toEqual(done ? [...before, old.claim.id] : before)
    if (task !== null) model.settle(task, { kind: 'completed', result: null }, real.clock.now())
  })

export const endSession = (n: number, cause: EndCause) =>
  step(`worker:${n} ends by ${cause}`, async (model, real) => {
    const worker = workerAt(real, n)
    const end = await worker.claimant.end(cause)
    expect(end, 'the end of the session').toEqual(model.end(worker.life, cause))
    await worker.claimant.begin()
    worker.life = newLife(model, worker.claimant.worker, worker.life.lastServed)
    return `${worker.claimant.worker} ends by ${cause}`
  })

export const advance = (ms: number) =>
  step(`${ms} ms pass`, async (_model, real) => {
    real.clock.advance(ms)
    return `${ms} ms pass`
  })

export const cancel = (pick: number) =>
  withTask(pick, 'cancel', async (model, real, task) => {
    expect(await real.store.tasks.cancelTask(task.id)).toEqual(model.cancel(task))
  })

export const retry = (pick: number) =>
  withTask(pick, 'retry', async (model, real, task) => {
    expect(await real.store.tasks.retryTask(task.id)).toEqual(model.retry(task, real.clock.now()))
  })

export const remove = (pick: number) =>
  withTask(pick, 'remove', async (model, real, task) => {
    expect(await real.store.tasks.removeTask(task.id)).toEqual(model.remove(task))
  })

/** All of one name: first as a dry run, which must say the same. */
export const changeEvery = (change: BulkChange, name: string) =>
  step(`${change} all of ${name}`, async (model, real) => {
    const query = { name }
    const dry = await changeAll(real.store.tasks, change, query, { dryRun: true })
    const answer = await changeAll(real.store.tasks, change, query)
    expect({ ...answer, dryRun: true }, 'the dry run').toEqual(dry)
    const now = real.clock.now()
    const ours = model.tasks.filter((task) => task.name === name)
    let changed = 0
    if (change === 'cancel') {
      const waiting = ours.filter((task) => ['waiting', 'held'].includes(task.state) && !task.cancelRequested)
      for (const task of waiting) model.cancel(task)
      changed = waiting.length
    } else if (change === 'remove') {
      for (const task of ours) if (!['waiting', 'held'].includes(task.state)) changed += 1
      for (const task of ours) if (!['waiting', 'held'].includes(task.state)) model.remove(task)
    } else {
      const refused = new Set(answer.refusals.map(({ id }) => id))
      const failed = ours.filter((task) => task.state === 'failed')
      for (const task of failed) {
        if (refused.has(task.id)) continue
        expect(model.retry(task, now), `retry ${task.id}`).toBe('retried')
        changed += 1
      }
      for (const { id, by } of answer.refusals) {
        const task = failed.find((one) => one.id === id)!
        expect(model.retry(task, now), `retry ${id}`).toEqual({ keyHeldBy: by })
      }
    }
    expect(answer.changed, 'changed').toBe(changed)
    return `${change} all of ${name}: ${changed}, refused ${answer.refused}`
  })

export const pause = (queue: string | null, paused: boolean) =>
  step(`${paused ? 'pause' : 'resume'} ${queue ?? 'everything'}`, async (model, real) => {
    await real.store.admin.setPaused(queue, paused)
    if (queue === null) model.everythingPaused = paused
    else if (paused) model.paused.add(queue)
    else model.paused.delete(queue)
    return `${paused ? 'pause' : 'resume'} ${queue ?? 'everything'}`
  })

export const order = (queue: string, ordering: Ordering) =>
  step(`order ${queue} by ${describeOrdering(ordering)}`, async (model, real) => {
    await real.store.admin.configureQueues([{ name: queue, ordering }])
    for (let steps = 0; steps < 100 && (await real.store.maintenance.rerank()); steps++);
    model.order(queue, ordering)
    return `order ${queue} by ${describeOrdering(ordering)}`
  })

function describeOrdering({ strategy, ageingMs }: Ordering): string {
  return ageingMs === null ? strategy : `${strategy}, a step for ${ageingMs} ms`
}

function withTask(
  pick: number,
  what: string,
  act: (model: ModelStore, real: RealStore, task: ModelTask) => Promise<void>,
): StoreStep {
  return step(what, async (model, real) => {
    const task = model.tasks[pick % model.tasks.length]
    if (task === undefined) return `${what} nothing`
    await act(model, real, task)
    return `${what} ${task.id}`
  })
}

/** Which claim to speak for: one that still holds, or any that was ever made. */
export interface Pick {
  n: number
  held: boolean
}

/** `task` is null when the claim was lost and must be refused. */
function withClaim(
  { n, held }: Pick,
  what: string,
  act: (model: ModelStore, real: RealStore, old: OldClaim, task: ModelTask | null) => Promise<void>,
): StoreStep {
  return step(what, async (model, real) => {
    const claims = held ? real.claims.filter((old) => taskOf(model, old) !== null) : real.claims
    const old = claims[n % claims.length]
    if (old === undefined) return `${what} nothing`
    const task = taskOf(model, old)
    await act(model, real, old, task)
    const { id, fence } = old.claim
    return `${what} ${id} (fence ${fence}, ${old.worker.claimant.worker})${task ? '' : ', refused'}`
  })
}

function taskOf(model: ModelStore, { claim, life }: OldClaim): ModelTask | null {
  const task = model.tasks.find(({ id }) => id === claim.id)
  return task?.holder?.fence === claim.fence && task.holder.life === life ? task : null
}

/** Speaks as the session that made the claim, which may have ended since. */
async function asThen<T>({ worker: { claimant }, session }: OldClaim, act: () => Promise<T>): Promise<T> {
  const now = claimant.session
  claimant.session = session
  try {
    return await act()
  } finally {
    claimant.session = now
  }
}

function workerAt(real: RealStore, n: number): Worker {
  return real.workers[n % real.workers.length]!
}

function describe({ name, queue, priority, key, forever, delayMs, maxAttempts }: Spec): string {
  const extras = [
    key === null ? '' : ` key ${key}${forever ? ' for ever' : ''}`,
    delayMs === 0 ? '' : ` in ${delayMs} ms`,
  ]
  return `(${name} in ${queue}, priority ${priority}, ${maxAttempts} attempts${extras.join('')})`
}
