import type { Uses } from '../../define/resource.ts'
import type { Outcome } from '../../model/outcome.ts'
import type { RowOutcome } from '../../model/row.ts'
import type { ClaimProof, Effects, Exchange, Exchanged, NewSession, Run, Want } from '../../store/contract.ts'
import type { Attempt } from '../attempt.ts'
import { type HandedIn, Outbox } from '../outbox.ts'
import type { Reporting } from '../report/report.ts'
import type { RunServices } from '../run-services.ts'

/** What a worker knows of an item that it claimed, wherever it was found. */
export interface Item extends ClaimProof {
  attempt: number
  maxAttempts: number
  /** Claimed to be started at once; otherwise held ahead. */
  started: boolean
  /** To be run alone. */
  suspect: boolean
}

/** How a run ended: of a task, or of a row. */
export type AttemptOutcome = Outcome | RowOutcome

/** How much a worker has hands for, and the names of what it has no resources for. */
export interface Capacity extends Omit<Want, 'able'> {
  without: readonly string[]
}

/** What is finished, and the room for more. */
export interface SourceExchange extends Omit<Exchange, 'want' | 'outcomes'> {
  outcomes: readonly (Run & { outcome: AttemptOutcome })[]
  want: Capacity | null
}

/** What came of it: the next items, and what is not ours any more. */
export interface SourceAnswer extends Omit<Exchanged, 'claims'> {
  claims: readonly Item[]
  /** Outcomes that were refused, beside those that `refused` names. */
  fenced?: number
  /** Items of this worker went back in this exchange, perhaps after its claim. */
  gaveBack?: boolean
}

/** The resources of those of these definitions that need any. */
export function usesOf(definitions: Iterable<{ name: string; uses: Uses | null }>): [string, Uses][] {
  return [...definitions].flatMap(({ name, uses }) => (uses === null ? [] : [[name, uses]]))
}

/** Where a worker's items come from, and where it hands in what became of them. */
export abstract class Source {
  /** What it gives, for those who count. */
  abstract readonly kind: 'tasks' | 'rows'
  readonly outbox = new Outbox()
  /** When something that waits for its time becomes due, by the monotonic clock. */
  nextDueMs = Number.POSITIVE_INFINITY
  /** An item of it waits for an empty house. */
  suspectsWait = false

  /** What a session says that it serves. */
  abstract get serves(): Partial<Pick<NewSession, 'queues' | 'names' | 'discoveries'>>
  /** The resources that its items need, by their names. */
  abstract uses(): [name: string, uses: Uses][]
  /** Whether items of this name are what the worker is there for. If one lacks a resource, the worker is unhealthy. */
  expects(_name: string): boolean {
    return true
  }

  /** Hands in what is finished, takes what is next. */
  abstract exchange(handing: SourceExchange): Promise<SourceAnswer>
  /** Tells listeners and hooks what became of what was handed in. */
  abstract report(reporting: Reporting, handedIn: readonly HandedIn[], answer: SourceAnswer): void
  /** The run of an item that this source gave. */
  abstract begin(item: Item, services: RunServices): Attempt
  /** Commits the handler's own writes together with the completion, and tells of it. An error: nothing was written. */
  abstract completeWith(completing: Completing): Promise<Error | null>
  /** Before anything else that waits. */
  suspectsGoFirst(_household: { isTimeForSuspects: boolean }): boolean {
    return true
  }

  /** It was asked for more, and has nothing that this worker may run: not even a suspect, alone. */
  isExhausted(want: Capacity | null, { claims, compare, gaveBack }: SourceAnswer): boolean {
    if (want === null || want.start <= 0 || claims.length > 0) return false
    return !this.suspectsWait && compare !== true && gaveBack !== true
  }

  /** Something is left that is not due, or blocked. */
  abstract hasDelayed(): Promise<boolean>
}

export interface Completing {
  session: string
  attempt: Attempt
  outcome: AttemptOutcome
  effects: Effects
  reporting: Reporting
}
