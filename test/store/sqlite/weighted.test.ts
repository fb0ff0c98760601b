import { expect, onTestFinished, test } from 'vitest'
import type { Outcome } from '../../../src/model/outcome.ts'
import type { Exchange } from '../../../src/store/ports/exchange.ts'
import type { NewTask } from '../../../src/store/ports/new-task.ts'
import type { Store } from '../../../src/store/ports/store.ts'
import { openSqliteStore } from '../../../src/store/sqlite/store.ts'
import { ManualClock } from '../../../src/testing/manual-clock.ts'
import { Claimant } from '../../conformance/claimant.ts'
import { Draws, seeded } from '../../conformance/draws.ts'
import { newTask } from '../../conformance/world.ts'

/** The draws of the proof: no fewer will do. */
const DRAWS = 100_000
const PRIORITIES = [1, 2, 5, 20, 100]

async function weightedQueue(seed: number) {
  const clock = new ManualClock()
  const store = await openSqliteStore({
    path: ':memory:',
    durability: 'normal',
    clock,
    random: seeded(seed),
  })
  onTestFinished(() => store.close())
  await store.admin.configureQueues([{ name: 'default', ordering: { strategy: 'weighted', ageingMs: null } }])
  const worker = await new Claimant(store, clock).begin()
  return { clock, store, worker }
}

const DONE: Outcome = { kind: 'completed', result: null }

function again(retryAfterMs: number): Outcome {
  return { kind: 'failed', failure: { kind: 'error', message: 'no', stack: null }, retryAfterMs }
}

/** Enqueues one of each of these priorities, and knows them by their ids. */
class Field {
  readonly draws = new Draws(PRIORITIES)
  readonly #store: Store
  readonly #priorityOf = new Map<string, number>()

  constructor(store: Store) {
    this.#store = store
  }

  async enqueue(priorities: readonly number[], task: Partial<NewTask> = {}): Promise<void> {
    const answers = await this.#store.tasks.enqueue(
      priorities.map((priority) => newTask({ priority, maxAttempts: 1_000, ...task })),
    )
    for (const [i, { id }] of answers.entries()) this.#priorityOf.set(id, priorities[i]!)
    if (!task.runAfter) for (const priority of priorities) this.draws.join(priority)
  }

  of({ id }: { id: string }): number {
    return this.#priorityOf.get(id)!
  }
}

test('100 000 draws from all that wait come as 1 / priority says', async () => {
  const { store, worker } = await weightedQueue(1)
  const field = new Field(store)
  // As many draws as a proof needs, of sets in which each priority is left to the end.
  const perPriority = 400
  while (field.draws.count < DRAWS) {
    for (const priority of PRIORITIES)
      await field.enqueue(Array.from({ length: perPriority }, () => priority))
    const claims = await worker.claim(PRIORITIES.length * perPriority)
    for (const claim of claims) field.draws.drew(field.of(claim))
    await worker.completeAll(claims)
  }
  expect(field.draws.chiSquare).toBeLessThan(field.draws.limit)
})

test('100 000 draws among late comers, delayed and retried ones come as 1 / priority says', {
  timeout: 60_000,
}, async () => {
  const { clock, store, worker } = await weightedQueue(2)
  const field = new Field(store)
  const { draws } = field
  for (const priority of PRIORITIES) await field.enqueue(Array.from({ length: 8 }, () => priority))
  let delayed: { at: number; priority: number }[] = []
  let outcomes: Exchange['outcomes'][number][] = []
  let turn = 0
  while (draws.count < DRAWS) {
    clock.advance(1)
    for (const { at, priority } of delayed) if (at <= clock.now()) draws.join(priority)
    delayed = delayed.filter(({ at }) => at > clock.now())
    const want = { able: worker.able, start: 10, ahead: 0, empty: true }
    const { claims } = await worker.exchange({ outcomes, want })
    const lateComers: number[] = []
    const later: number[] = []
    outcomes = []
    for (const { id, fence } of claims) {
      const priority = field.of({ id })
      draws.drew(priority)
      turn += 1
      const retryAfterMs = turn % 10 === 1 ? 0 : turn % 10 === 2 ? 7 : null
      outcomes.push({ id, fence, startedAt: 1, outcome: retryAfterMs === null ? DONE : again(retryAfterMs) })
      // It is handed in with the next exchange, a millisecond later.
      if (retryAfterMs !== null) delayed.push({ at: clock.now() + 1 + retryAfterMs, priority })
      else if (turn % 10 === 3) later.push(priority)
      else lateComers.push(priority)
    }
    await field.enqueue(lateComers)
    await field.enqueue(later, { runAfter: { ms: 5 } })
    for (const priority of later) delayed.push({ at: clock.now() + 5, priority })
  }
  expect(draws.chiSquare).toBeLessThan(draws.limit)
})

test('who is merely held ahead does not move the race on: a late comer has his chance against all that go back', async () => {
  const { store, worker } = await weightedQueue(3)
  const first = new Draws([99, 100])
  const late = new Set<string>()
  const enqueue = async (count: number) =>
    (await store.tasks.enqueue(Array.from({ length: count }, () => newTask({ priority: 100 })))).map(
      ({ id }) => id,
    )
  await enqueue(9)
  for (let round = 0; round < 3_000; round++) {
    const [begun, ...ahead] = await worker.claim(1, 8)
    await worker.exchange({
      outcomes: [begun!, ...ahead].map(({ id, fence }, i) => ({
        id,
        fence,
        startedAt: 1,
        outcome: i === 0 ? { kind: 'completed', result: null } : { kind: 'returned' },
      })),
    })
    late.clear()
    for (const id of await enqueue(1)) late.add(id)
    const [next] = await worker.claim(1)
    // Told apart by a made up priority that is all but the same.
    first.join(99)
    first.join(100, 8)
    first.drew(late.has(next!.id) ? 99 : 100)
    first.join(99, late.has(next!.id) ? 0 : -1)
    first.join(100, late.has(next!.id) ? -8 : -7)
    await worker.complete(next!)
    await enqueue(1)
  }
  expect(first.chiSquare).toBeLessThan(first.limit)
})

test('nobody starves: each of twenty of priority 100 has its turn among those of priority 1 that never end', async () => {
  const { store, worker } = await weightedQueue(4)
  await store.tasks.enqueue(Array.from({ length: 10 }, () => newTask({ priority: 1 })))
  const patient = new Set(
    (await store.tasks.enqueue(Array.from({ length: 20 }, () => newTask({ priority: 100 })))).map(
      ({ id }) => id,
    ),
  )
  let draws = 0
  while (patient.size > 0) {
    const claims = await worker.claim(5)
    const urgent = claims.filter(({ id }) => !patient.delete(id))
    draws += claims.length
    await worker.completeAll(claims)
    await store.tasks.enqueue(urgent.map(() => newTask({ priority: 1 })))
  }
  // Each waits for 1 000 draws on average.
  expect(draws).toBeLessThan(10_000)
})
