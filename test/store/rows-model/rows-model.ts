import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { RowOutcome } from '../../../src/model/row.ts'
import type { TestDatabase } from '../../conformance/index.ts'
import { ModelTable } from './model-table.ts'
import { RealTable } from './real-table.ts'
import * as step from './steps.ts'

/** Few in `npm test`; `GLEANER_MODEL_RUNS=5000` for a long night. */
const RUNS = Number(process.env.GLEANER_MODEL_RUNS ?? 12)
const STEPS = Number(process.env.GLEANER_MODEL_STEPS ?? 100)
const SEED = Number(process.env.GLEANER_MODEL_SEED ?? Date.now() % 2 ** 31)
const RUN_LIMIT_MS = 2_000

const failure = { kind: 'error', message: 'no', stack: null } as const

const outcome: fc.Arbitrary<RowOutcome> = fc.oneof(
  ...Array.from({ length: 3 }, () =>
    fc.constant<RowOutcome>({ kind: 'completed', values: { needs: 0, bpm: 120 }, retryAfterMs: 50 }),
  ),
  fc.constant<RowOutcome>({ kind: 'completed', values: { bpm: 1 }, retryAfterMs: 50 }),
  fc.constantFrom(null, 0, 50).map<RowOutcome>((retryAfterMs) => ({ kind: 'failed', failure, retryAfterMs })),
  fc.constantFrom(0, 50).map<RowOutcome>((afterMs) => ({ kind: 'later', afterMs })),
  fc.constant<RowOutcome>({ kind: 'returned' }),
)

const id = fc.nat({ max: 7 })
const worker = fc.nat({ max: 2 })

const often = (weight: number, arbitrary: fc.Arbitrary<step.RowStep>) =>
  Array.from({ length: weight }, () => arbitrary)

/** Where the whole row is its version, a rescan is not part of it: some databases cannot tell it from an edit. */
const stepsWith = (version: string | null) =>
  fc.commands<ModelTable, RealTable, false>(
    [
      ...often(5, id.map(step.add)),
      ...often(
        4,
        fc
          .tuple(
            id,
            fc.constantFrom<step.Change[]>('edit', 'edit', 'invalidate', 'validate', 'need', 'need not'),
          )
          .map(([row, how]) => step.change(row, how)),
      ),
      fc.constant(version !== null).map(step.rescan),
      id.map(step.remove),
      ...often(
        6,
        fc
          .tuple(worker, fc.nat({ max: 2 }), fc.nat({ max: 2 }))
          .map(([n, started, ahead]) => step.claim(n, Math.max(started, ahead === 0 ? 1 : 0), ahead)),
      ),
      ...often(
        6,
        fc.tuple(fc.nat({ max: 5 }), outcome).map(([pick, how]) => step.settle(pick, how)),
      ),
      ...often(2, worker.map(step.settleAll)),
      ...often(
        2,
        fc.tuple(worker, fc.constantFrom('crash', 'stop', 'lease')).map(([n, cause]) => step.end(n, cause)),
      ),
      ...often(2, fc.constantFrom(1, 50, 500).map(step.advance)),
      id.map(step.retry),
      fc.constant(null).map(step.release),
      fc.constant(null).map(step.repair),
      fc.constant(null).map(step.deleteLedger),
    ],
    { maxCommands: STEPS, size: 'max' },
  )

/** Rows updated, deleted, reverted, invalidated at random while being worked on, beside a model of them. */
export function rowsModel(openDatabase: () => Promise<TestDatabase>): void {
  test.each([
    ['a version column', 'edited'],
    ['the row as its version', null],
  ])(
    'after any sequence of edits and work the table is what the model says, and all gets done (%s)',
    {
      timeout: 30_000 + RUNS * RUN_LIMIT_MS,
    },
    async (_, version) => {
      console.log(`rows model: ${RUNS} runs of up to ${STEPS} steps, GLEANER_MODEL_SEED=${SEED}`)
      await fc.assert(
        fc.asyncProperty(stepsWith(version), async (sequence) => {
          const database = await openDatabase()
          try {
            const model = new ModelTable()
            const real = await RealTable.open(database, version)
            await fc.asyncModelRun(() => ({ model, real }), sequence)
            await expectAllDone(model, real)
          } finally {
            await database.destroy()
          }
        }),
        { numRuns: RUNS, seed: SEED },
      )
    },
  )
}

/** Whatever happened before: everything that needs work is found and done, and nothing is left of it. */
async function expectAllDone(model: ModelTable, real: RealTable): Promise<void> {
  const { store, clock } = real.world
  for (const { worker } of real.lives) await worker.end('stop')
  clock.advance(1_000_000)
  await store.rows.releaseRows('tag-files', { limit: 1_000, after: null })
  const { worker } = await real.newLife(store)
  const eligible = [...model.rows.keys()].filter((row) => model.isEligible(row))
  const done = new Set<string>()
  for (let look = 0; look <= eligible.length; look++) {
    const claims = await worker.claim(100)
    if (claims.length === 0) break
    const values = { needs: 0, bpm: 7 }
    const answers = await worker.settleAll(claims, { kind: 'completed', values, retryAfterMs: 50 })
    for (const [n, { kind }] of answers.entries()) {
      expect(kind).toBe('done')
      done.add(claims[n]!.key)
    }
  }
  expect([...done].toSorted(), 'each that needed work').toEqual(eligible.map(String).toSorted())
  expect(await store.rows.countRows('tag-files')).toMatchObject({
    waiting: 0,
    claimed: 0,
    backingOff: 0,
    quarantined: 0,
  })
}
