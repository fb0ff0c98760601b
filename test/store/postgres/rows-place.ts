import { systemClock } from '../../../src/clock.ts'
import type { RowAnswer, RowOutcome, RowValues } from '../../../src/model/row.ts'
import type { DiscoverySource, RowClaim, RowsExchanged } from '../../../src/store/ports/rows.ts'
import type { Store } from '../../../src/store/ports/store.ts'
import { Claimant } from '../../conformance/claimant.ts'
import { RowWorker } from '../../conformance/row-worker.ts'
import type { Place } from './place.ts'

export const FILES = `CREATE TABLE gleaner.files (id integer PRIMARY KEY, path text NOT NULL DEFAULT 'a', needs boolean NOT NULL)`

export function source(place: Place, some: Partial<DiscoverySource> = {}): DiscoverySource {
  return {
    name: 'files',
    table: `${place.schema}.files`,
    key: ['id'],
    where: 'needs',
    version: null,
    orderBy: null,
    maxAttempts: 3,
    crashLimit: 3,
    ...some,
  }
}

/** A table with rows that need work, numbered from 1, and a store that has planned a discovery on it. */
export async function withFiles(
  place: Place,
  count: number,
  some: Partial<DiscoverySource> = {},
  options: Parameters<Place['store']>[0] = {},
): Promise<Store> {
  const store = await place.store(options)
  await place.rows(FILES)
  await place.rows('INSERT INTO gleaner.files (id, needs) SELECT n, true FROM generate_series(1, $1) n', [
    count,
  ])
  await store.rows.planDiscoveries([source(place, some)])
  return store
}

export async function rowWorker(
  store: Store,
  discoveries: readonly string[] = ['files'],
): Promise<RowWorker> {
  const claimant = new Claimant(store, { ...systemClock, advance() {} })
  return new RowWorker(await claimant.begin(), discoveries)
}

export const DONE: RowValues = { needs: false }

export function completed(values: RowValues = DONE, retryAfterMs = 1_000): RowOutcome {
  return { kind: 'completed', values, retryAfterMs }
}

/** Hands them in, and wants more. */
export function trade(worker: RowWorker, claims: readonly RowClaim[], start: number): Promise<RowsExchanged> {
  const outcomes = claims.map(({ id, fence }) => ({ id, fence, startedAt: 1, outcome: completed() }))
  return worker.exchange({
    outcomes,
    want: { discoveries: worker.discoveries, start, ahead: 0, empty: true },
  })
}

export function kindsOf(answers: readonly RowAnswer[]): string[] {
  return answers.map(({ kind }) => kind)
}
