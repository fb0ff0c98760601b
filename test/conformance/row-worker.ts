import type { RowAnswer, RowOutcome, RowValues } from '../../src/model/row.ts'
import type { ClaimProof, Effects } from '../../src/store/ports/exchange.ts'
import type { DiscoverySource, RowClaim, RowExchange, RowsExchanged } from '../../src/store/ports/rows.ts'
import type { Store } from '../../src/store/ports/store.ts'
import type { Claimant, ClaimantOptions } from './claimant.ts'
import type { World } from './world.ts'

/** What a test's rows need: `needs` is 1. */
export const FILES = `CREATE TABLE files (id integer PRIMARY KEY, path text NOT NULL, needs integer NOT NULL,
  valid integer NOT NULL, bpm integer, edited integer NOT NULL)`

export function fileSource(world: World, some: Partial<DiscoverySource> = {}): DiscoverySource {
  return {
    name: 'tag-files',
    table: world.database.tables.named('files'),
    key: ['id'],
    where: 'needs = 1 AND valid = 1',
    version: null,
    orderBy: null,
    maxAttempts: 3,
    crashLimit: 3,
    ...some,
  }
}

/** A table of so many files that need work, numbered from 1, and a discovery that finds them. */
export async function withFiles(
  world: World,
  count: number,
  some: Partial<DiscoverySource> = {},
): Promise<void> {
  await world.database.tables.run(FILES)
  await addFiles(world, count)
  await world.store.rows.planDiscoveries([fileSource(world, some)])
}

export async function addFiles(world: World, count: number, first = 1): Promise<void> {
  const rows = Array.from({ length: count }, (_, n) => `(${first + n}, 'f${first + n}', 1, 1, NULL, 0)`)
  if (count > 0) await world.database.tables.run(`INSERT INTO files VALUES ${rows.join(', ')}`)
}

export async function file(world: World, id: number) {
  const [row] = await world.database.tables.rows(`SELECT * FROM files WHERE id = ${id}`)
  return row
}

const LOOKS_MAX = 100

/** What `done` returns of a file that was worked on. */
export const DONE: RowValues = { needs: 0, bpm: 120 }

/** A worker reduced to its conversation with the store about rows. */
export class RowWorker {
  readonly #claimant: Claimant
  readonly discoveries: readonly string[]
  readonly #held = new Map<string, number>()

  constructor(claimant: Claimant, discoveries: readonly string[]) {
    this.#claimant = claimant
    this.discoveries = discoveries
  }

  get session(): string {
    return this.#claimant.session
  }

  get store(): Store {
    return this.#claimant.store
  }

  async exchange(parts: Partial<Omit<RowExchange, 'session'>>): Promise<RowsExchanged> {
    const { session } = this
    const answer = await this.store.rows.exchangeRows({
      session,
      starts: [],
      outcomes: [],
      want: null,
      ...parts,
    })
    for (const { id, fence } of parts.outcomes ?? []) if (this.#held.get(id) === fence) this.#held.delete(id)
    for (const { id, fence } of answer.claims) this.#held.set(id, fence)
    return answer
  }

  /** As far as it knows: of a claim that was taken away it hears when it hands in. */
  get isEmpty(): boolean {
    return this.#held.size === 0
  }

  take(start = 1, ahead = 0, thorough = false): Promise<RowsExchanged> {
    const { discoveries, isEmpty: empty } = this
    return this.exchange({ want: { discoveries, start, ahead, empty, thorough } })
  }

  async claim(start = 1, ahead = 0): Promise<RowClaim[]> {
    return (await this.take(start, ahead)).claims
  }

  /** Until there is nothing: where a look begins is the store's own affair, and so how much it brings. */
  async claimAll(): Promise<RowClaim[]> {
    const all: RowClaim[] = []
    for (let look = 0; look < LOOKS_MAX; look++) {
      const some = await this.claim(1_000)
      if (some.length === 0) return all.toSorted((one, other) => Number(one.key) - Number(other.key))
      all.push(...some)
    }
    throw new Error(`there was something to claim ${LOOKS_MAX} times`)
  }

  async claimOne(): Promise<RowClaim> {
    const [claim] = await this.claim()
    if (claim === undefined) throw new Error('there was no row to claim')
    return claim
  }

  async settleAll(claims: readonly ClaimProof[], outcome: RowOutcome): Promise<RowAnswer[]> {
    const startedAt = this.#claimant.clock.now()
    const outcomes = claims.map(({ id, fence }) => ({ id, fence, startedAt, outcome }))
    return (await this.exchange({ outcomes })).answers
  }

  async settle(claim: ClaimProof, outcome: RowOutcome): Promise<RowAnswer> {
    return (await this.settleAll([claim], outcome))[0]!
  }

  complete(claim: ClaimProof, values: RowValues = DONE, retryAfterMs = 1_000): Promise<RowAnswer> {
    return this.settle(claim, { kind: 'completed', values, retryAfterMs })
  }

  /** For good, unless there is a time to try again. */
  fail(claim: ClaimProof, retryAfterMs: number | null = null, message = 'no'): Promise<RowAnswer> {
    const failure = { kind: 'error', message, stack: null } as const
    return this.settle(claim, { kind: 'failed', failure, retryAfterMs })
  }

  giveBack(claim: ClaimProof): Promise<RowAnswer> {
    return this.settle(claim, { kind: 'returned' })
  }

  async completeWith(claim: ClaimProof, effects: Effects, values: RowValues = DONE): Promise<RowAnswer> {
    const { id, fence } = claim
    const run = { id, fence, startedAt: this.#claimant.clock.now() }
    const answer = await this.store.rows.completeRowWith(
      this.session,
      run,
      { values, retryAfterMs: 1_000 },
      effects,
    )
    this.#held.delete(id)
    return answer
  }

  async end(cause: Parameters<Claimant['end']>[0]) {
    this.#held.clear()
    return this.#claimant.end(cause)
  }

  /** A new life. */
  async begin(): Promise<this> {
    await this.#claimant.begin()
    return this
  }
}

export async function rowWorker(
  world: World,
  {
    discoveries = ['tag-files'],
    store,
    ...options
  }: Pick<ClaimantOptions, 'worker' | 'pulls'> & { discoveries?: readonly string[]; store?: Store } = {},
): Promise<RowWorker> {
  return new RowWorker(await world.worker(options, store), discoveries)
}

export function keysOf(items: readonly { key: string }[]): string[] {
  return items.map(({ key }) => key)
}
