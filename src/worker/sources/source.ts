import type { Uses } from '../../define/resource.ts'
import type { Outcome } from '../../model/outcome.ts'
import type { RowOutcome } from '../../model/row.ts'
import type { Hears } from '../../store/ports/change.ts'
import type {
  ClaimProof,
  ClaimRequest,
  Effects,
  Exchange,
  Exchanged,
  Run,
} from '../../store/ports/exchange.ts'
import type { Overrides } from '../../store/ports/new-task.ts'
import type { NewSession } from '../../store/ports/sessions.ts'
import type { Attempt, SettledAttempt } from '../attempt.ts'
import type { Batched, Batches } from '../batches/batches.ts'
import { Outbox } from '../exchange.ts'
import type { CautiousStart } from '../isolation/cautious-start.ts'
import type { Reporting } from '../report/report.ts'
import type { AttemptServices } from '../run-services.ts'

/** What a worker knows of a claimed item, a task or a row. */
export interface Item extends ClaimProof {
  attempt: number
  maxAttempts: number
  /** Claimed to be started at once. Otherwise it is prefetched. */
  started: boolean
  /** It must run alone. */
  suspect: boolean
  /** Options of this task, beside those of its definition. */
  overrides?: Overrides | null
}

/** How an attempt ended. */
export type AttemptOutcome = Outcome | RowOutcome

/** How much a worker can take, and the names of the items that it has no resources for. */
export interface WorkRequest extends Omit<ClaimRequest, 'able'> {
  without: readonly string[]
}

/** What has finished, and what is wanted next. */
export interface SourceExchange extends Omit<Exchange, 'want' | 'outcomes'> {
  outcomes: readonly (Run & { outcome: AttemptOutcome })[]
  want: WorkRequest | null
}

/** The next items, and which items the worker no longer holds. */
export interface SourceAnswer extends Omit<Exchanged, 'claims'> {
  claims: readonly Item[]
  /** Refused outcomes that `refused` does not name. */
  fenced?: number
  /** Items of this worker went back in this exchange, perhaps after its claim. */
  gaveBack?: boolean
}

/** The completion of an attempt together with the writes of its handler. */
export interface Completing {
  session: string
  attempt: Attempt
  effects: Effects
  reporting: Reporting
}

/** Where items come from, and where their outcomes go. */
export abstract class Source {
  /** What it gives, for metrics. */
  abstract readonly kind: 'tasks' | 'rows'
  readonly outbox = new Outbox()
  /** Collects its items for one call, if its definitions take many at once. */
  batches: Batches | null = null
  /** When a delayed item becomes due, by the monotonic clock. */
  nextDueMs = Number.POSITIVE_INFINITY
  /** A suspect waits until the process is empty. */
  suspectsWait = false
  readonly #cautiousStart: CautiousStart | null

  constructor(cautiousStart: CautiousStart | null = null) {
    this.#cautiousStart = cautiousStart
  }

  /** What a session says that it serves. */
  abstract get serves(): Partial<Pick<NewSession, 'queues' | 'names' | 'discoveries' | 'strategies'>>
  /** The resources that its items need, by their names. */
  abstract uses(): [name: string, uses: Uses][]
  /** How many items to hold for one call. 0: each item has a call of its own. */
  abstract readonly batchSize: number
  /** Whether the worker exists for items of this name. If one of them lacks a resource, the worker is unhealthy. */
  expects(_name: string): boolean {
    return true
  }

  /** Settles what has finished and claims what is next. */
  exchange(exchange: SourceExchange): Promise<SourceAnswer> {
    return this.#cautiousStart === null ? this.ask(exchange) : this.#cautiousStart.exchange(this, exchange)
  }

  /** The exchange with the store. */
  abstract ask(exchange: SourceExchange): Promise<SourceAnswer>
  /** Tells listeners and hooks what became of the settled attempts. */
  abstract report(reporting: Reporting, settled: readonly SettledAttempt[], answer: SourceAnswer): void
  /** The attempt at an item that this source gave. */
  abstract begin(item: Item, services: AttemptServices): Attempt
  /** Commits the completion with the writes of the handler, and reports it. An error: nothing was written. */
  abstract completeWith(completing: Completing): Promise<Error | null>
  /** Whether a suspect runs before other items that wait. */
  suspectsGoFirst(_isolation: { isTimeForSuspects: boolean }): boolean {
    return true
  }

  /** It was asked for more, and has nothing that this worker may run, not even a suspect. */
  isExhausted(want: WorkRequest | null, { claims, compare, gaveBack, isPart }: SourceAnswer): boolean {
    if (want === null || want.start <= 0 || claims.length > 0) return false
    return !this.suspectsWait && compare !== true && gaveBack !== true && isPart !== true
  }

  /** An item is left that is not due, or blocked. */
  abstract hasDelayed(): Promise<boolean>
}

/** What is claimed for one call may belong to several. */
const GROUPS_FACTOR = 4

/** A source has either definitions whose handlers take many items, or others. */
export function batchSizeOf(definitions: Iterable<Batched>): number {
  const sizes = [...definitions].map(({ batch }) =>
    batch === null ? 0 : batch.size * (batch.by === null ? 1 : GROUPS_FACTOR),
  )
  return Math.max(0, ...sizes)
}

/** The resources of the definitions that need any. */
export function usesOf(definitions: Iterable<{ name: string; uses: Uses | null }>): [string, Uses][] {
  return [...definitions].flatMap(({ name, uses }) => (uses === null ? [] : [[name, uses]]))
}

/** All sources of a worker. The source that gave something last is asked last, so that no item waits behind those of another source forever. */
export class Sources {
  readonly #all: Source[]

  constructor(sources: readonly Source[]) {
    this.#all = [...sources]
  }

  /** What a session says that it serves. */
  get serves(): Pick<NewSession, 'queues' | 'names' | 'strategies'> & { discoveries: readonly string[] } {
    const all = this.#all.map((source) => source.serves)
    const of = (what: 'queues' | 'names' | 'discoveries') => [
      ...new Set(all.flatMap((one) => one[what] ?? [])),
    ]
    const strategies = all.find((one) => one.strategies !== undefined)?.strategies
    return {
      ...{ queues: of('queues'), names: of('names'), discoveries: of('discoveries') },
      ...(strategies !== undefined && { strategies }),
    }
  }

  /** Any program that writes a row may bring work. Tasks come from stores, which signal it. */
  get hears(): Hears {
    return this.#all.some(({ kind }) => kind === 'rows') ? 'commits' : 'signals'
  }

  /** In their order now, which may change meanwhile. */
  inTurn(): readonly Source[] {
    return this.#all.length === 1 ? this.#all : [...this.#all]
  }

  /** The other source of the same kind: the store knows the items of both together. */
  siblings(source: Source): Source[] {
    return this.#all.filter((one) => one !== source && one.kind === source.kind)
  }

  gave(source: Source): void {
    if (this.#all.length === 1) return
    this.#all.splice(this.#all.indexOf(source), 1)
    this.#all.push(source)
  }

  /** When the process was emptied for a suspect, nothing else is claimed. */
  mayAsk(source: Source): boolean {
    return source.suspectsWait || !this.suspectsWait
  }

  get suspectsWait(): boolean {
    return this.#all.some((source) => source.suspectsWait)
  }

  get haveUnsent(): boolean {
    return this.#all.some((source) => !source.outbox.isEmpty)
  }

  async haveDelayed(): Promise<boolean> {
    for (const source of this.#all) if (await source.hasDelayed()) return true
    return false
  }

  /** After the end of the session, the store accepts nothing of it. */
  dropOutboxes(): void {
    for (const source of this.#all) source.outbox.drop()
  }

  [Symbol.iterator](): Iterator<Source> {
    return this.#all.values()
  }
}
