import type { Uses } from '../../define/resource.ts'
import type { Outcome } from '../../model/outcome.ts'
import type { RowOutcome } from '../../model/row.ts'
import type {
  ClaimProof,
  ClaimRequest,
  Effects,
  Exchange,
  Exchanged,
  NewLogLine,
  Run,
} from '../../store/ports/exchange.ts'
import type { Overrides } from '../../store/ports/new-task.ts'
import type { NewSession } from '../../store/ports/sessions.ts'
import type { Attempt, SettledAttempt } from './attempt.ts'
import type { Reporting } from './reporting.ts'
import type { AttemptServices } from './services.ts'

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
  /** It starts within that time after the worker asked for it, or goes back. */
  startWithinMs?: number
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

/** What narrows the first claims of a source after a crash. */
interface ExchangeFilter {
  exchange(source: Source, exchange: SourceExchange): Promise<SourceAnswer>
}

/** Calls that take many items. */
export interface BatchCalls {
  /** An attempt began, or ended. */
  added(): void
  removed(): void
  /** How many items to claim now: enough to fill all calls that could begin. Null: none. */
  request<R>(sizeMax: number, rest: R): (R & { start: number; ahead: number }) | null
  /** Resolves or rejects with the item's own outcome. */
  join(attempt: Attempt, input: unknown): Promise<unknown>
}

/** Where items come from, and where their outcomes go. */
export abstract class Source {
  /** What it gives, for metrics. */
  abstract readonly kind: 'tasks' | 'rows'
  readonly outbox = new Outbox()
  /** Collects its items for one call, if its definitions take many at once. */
  batches: BatchCalls | null = null
  /** When a delayed item becomes due, by the monotonic clock. */
  nextDueMs = Number.POSITIVE_INFINITY
  /** A suspect waits until the process is empty. */
  suspectsWait = false
  readonly #cautiousStart: ExchangeFilter | null

  constructor(cautiousStart: ExchangeFilter | null = null) {
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

/** Log lines of one attempt that are kept. The rest is counted. */
const LINES_MAX = 1_000

interface Progress {
  fraction: number
  message: string | null
}

type Parts = Pick<SourceExchange, 'outcomes' | 'progress' | 'logs'>

/** What the store has to be told about the items of one source, since the last exchange. */
export class Outbox {
  /** When the oldest of it happened. */
  sinceMs: number | undefined
  #settled: SettledAttempt[] = []
  #returned: ClaimProof[] = []
  readonly #progress = new Map<Attempt, Progress>()
  readonly #logs = new Map<Attempt, NewLogLine[]>()
  readonly #lineCounts = new WeakMap<Attempt, number>()

  get isEmpty(): boolean {
    return this.sinceMs === undefined
  }

  settled(attempt: SettledAttempt, nowMs: number): void {
    this.#settled.push(attempt)
    this.sinceMs ??= nowMs
  }

  /** The items whose outcome the store does not know yet. */
  get ids(): string[] {
    return [...this.#settled, ...this.#returned].map(({ id }) => id)
  }

  /** The worker held it and never started it. */
  returned(claim: ClaimProof, nowMs: number): void {
    this.#returned.push(claim)
    this.sinceMs ??= nowMs
  }

  progress(attempt: Attempt, progress: Progress, nowMs: number): void {
    this.#progress.set(attempt, progress)
    this.sinceMs ??= nowMs
  }

  /** The progress that no exchange has told yet, for a completion that does not wait for the next exchange. */
  takeProgress(attempt: Attempt): Progress | undefined {
    const progress = this.#progress.get(attempt)
    this.#progress.delete(attempt)
    return progress
  }

  logged(attempt: Attempt, line: NewLogLine, nowMs: number): void {
    const count = (this.#lineCounts.get(attempt) ?? 0) + 1
    this.#lineCounts.set(attempt, count)
    if (count > LINES_MAX) return
    const lines = this.#logs.get(attempt) ?? []
    const last = { ...line, message: `${line.message} (the last line kept of this attempt)` }
    lines.push(count === LINES_MAX ? last : line)
    this.#logs.set(attempt, lines)
    this.sinceMs ??= nowMs
  }

  /** Empties it. `putBack` undoes that after a failed exchange. */
  take(): { parts: Parts; settled: readonly SettledAttempt[]; putBack: () => void } {
    const [settled, returned, progress, logs] = [
      this.#settled,
      this.#returned,
      [...this.#progress],
      [...this.#logs],
    ]
    const { sinceMs } = this
    this.#settled = []
    this.#returned = []
    this.#progress.clear()
    this.#logs.clear()
    this.sinceMs = undefined
    return {
      parts: {
        outcomes: returned.length === 0 ? settled : [...settled, ...returned.map(asReturned)],
        progress: progress.map(([{ id, fence }, at]) => ({ id, fence, ...at })),
        logs: logs.map(([{ id, fence }, lines]) => ({ id, fence, lines })),
      },
      settled,
      putBack: () => {
        this.#settled = [...settled, ...this.#settled]
        this.#returned = [...returned, ...this.#returned]
        for (const [attempt, at] of progress)
          if (!this.#progress.has(attempt)) this.#progress.set(attempt, at)
        for (const [attempt, lines] of logs)
          this.#logs.set(attempt, [...lines, ...(this.#logs.get(attempt) ?? [])])
        this.sinceMs = sinceMs ?? this.sinceMs
      },
    }
  }

  /** After the end of the session, the store accepts nothing of it. */
  drop(): void {
    for (const { trace } of this.take().settled) trace?.ended({ kind: 'claim-lost' })
  }
}

function asReturned({ id, fence }: ClaimProof): Run & { outcome: AttemptOutcome } {
  return { id, fence, startedAt: 0, outcome: { kind: 'returned' } }
}
