import fc from 'fast-check'
import { test } from 'vitest'
import type { Outcome } from '../../../src/model/outcome.ts'
import type { Ordering } from '../../../src/model/queue.ts'
import type { TestDatabase } from '../../conformance/index.ts'
import { expectSameHistories } from './agreement.ts'
import { ModelStore, type Spec } from './model-store.ts'
import { RealStore } from './real-store.ts'
import {
  advance,
  cancel,
  changeEvery,
  claim,
  completeWith,
  endSession,
  enqueue,
  order,
  pause,
  remove,
  retry,
  type StoreStep,
  settle,
  start,
} from './steps.ts'

/** Few in `npm test`; `GLEANER_MODEL_RUNS=5000` for a long night. */
const RUNS = Number(process.env.GLEANER_MODEL_RUNS ?? 30)
const STEPS = Number(process.env.GLEANER_MODEL_STEPS ?? 100)
const SEED = Number(process.env.GLEANER_MODEL_SEED ?? Date.now() % 2 ** 31)
const RUN_LIMIT_MS = 2_000

const spec: fc.Arbitrary<Spec> = fc
  .record({
    name: fc.constantFrom('a', 'b'),
    queue: fc.constantFrom('x', 'y'),
    priority: fc.constantFrom(100, 1, 1000),
    key: fc.constantFrom(null, null, null, 'k', 'l'),
    forever: fc.boolean(),
    maxAttempts: fc.constantFrom(3, 1, 2, 9),
    delayMs: fc.constantFrom(0, 0, 0, 50, 500),
  })
  .map(({ forever, ...rest }) => ({ ...rest, forever: forever && rest.key !== null }))

const outcome: fc.Arbitrary<Outcome> = fc.oneof(
  fc.constant<Outcome>({ kind: 'completed', result: null }),
  fc.constantFrom(null, 0, 50).map<Outcome>((retryAfterMs) => ({
    kind: 'failed',
    failure: { kind: 'error', message: 'no', stack: null },
    retryAfterMs,
  })),
  fc.constantFrom(0, 50).map<Outcome>((afterMs) => ({ kind: 'later', afterMs })),
  fc.constant<Outcome>({ kind: 'returned' }),
  fc.constant<Outcome>({ kind: 'cancelled' }),
)

/** Not `weighted`, which is left to chance. */
const ordering: fc.Arbitrary<Ordering> = fc.oneof(
  fc.constantFrom('fifo', 'lifo', 'priority').map((strategy) => ({ strategy, ageingMs: null }) as const),
  fc.constantFrom(1, 50).map((ageingMs) => ({ strategy: 'priority', ageingMs }) as const),
)

const worker = fc.nat({ max: 2 })
const any = fc.nat({ max: 30 })
const pick = fc.record({ n: any, held: fc.constantFrom(true, true, true, true, false) })

const often = (weight: number, arbitrary: fc.Arbitrary<StoreStep>) =>
  Array.from({ length: weight }, () => arbitrary)

const steps = fc.commands<ModelStore, RealStore, false>(
  [
    ...often(4, fc.array(spec, { minLength: 1, maxLength: 3 }).map(enqueue)),
    ...often(
      6,
      fc
        .tuple(worker, fc.nat({ max: 2 }), fc.nat({ max: 2 }))
        .map(([n, started, ahead]) => claim(n, Math.max(started, ahead === 0 ? 1 : 0), ahead)),
    ),
    ...often(
      5,
      fc.tuple(pick, outcome).map(([which, how]) => settle(which, how)),
    ),
    ...often(3, pick.map(start)),
    pick.map(completeWith),
    ...often(
      2,
      fc.tuple(worker, fc.constantFrom('crash', 'stop', 'lease')).map(([n, cause]) => endSession(n, cause)),
    ),
    ...often(2, fc.constantFrom(1, 50, 500).map(advance)),
    any.map(cancel),
    ...often(2, any.map(retry)),
    any.map(remove),
    fc
      .tuple(fc.constantFrom('retry', 'cancel', 'remove'), fc.constantFrom('a', 'b'))
      .map(([change, name]) => changeEvery(change, name)),
    fc.tuple(fc.constantFrom('x', 'y', null), fc.boolean()).map(([queue, paused]) => pause(queue, paused)),
    ...often(
      2,
      fc.constantFrom('x', 'y', null).map((queue) => pause(queue, false)),
    ),
    fc.tuple(fc.constantFrom('x', 'y'), ordering).map(([queue, how]) => order(queue, how)),
  ],
  { maxCommands: STEPS, size: 'max' },
)

/** Random sequences of all that can be done to a store, beside a model of it that is too simple to be wrong. */
export function storeModel(openDatabase: () => Promise<TestDatabase>): void {
  test('after any sequence of commands the store says what the model says', {
    timeout: 30_000 + RUNS * RUN_LIMIT_MS,
  }, async () => {
    console.log(`model: ${RUNS} runs of up to ${STEPS} steps, GLEANER_MODEL_SEED=${SEED}`)
    await fc.assert(
      fc.asyncProperty(steps, async (sequence) => {
        const database = await openDatabase()
        try {
          const model = new ModelStore()
          const real = await RealStore.open(database, model)
          await fc.asyncModelRun(() => ({ model, real }), sequence)
          await expectSameHistories(model, real)
        } finally {
          await database.destroy()
        }
      }),
      { numRuns: RUNS, seed: SEED },
    )
  })
}
