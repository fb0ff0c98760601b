import { CHANGES_MAX, entryAfter, entryAfterChange, type LedgerEntry, type RowTransition } from './ledger.ts'
import { decide, type Held, returned } from './outcome.ts'
import type { RowAnswer, RowOutcome } from './row.ts'

/** A row whose claim ends without the values of `done`. */
export interface UnwrittenRow {
  held: Held
  /** What the ledger remembers of it. */
  before: LedgerEntry | null
  /** The row was edited since it was claimed. */
  isEdited: boolean
  /** Why the values of a completed row could not be written. */
  problem: string
}

export interface RowSettlement {
  answer: RowAnswer
  /** What the ledger remembers from now on. Null: nothing. */
  entry: LedgerEntry | null
}

type Waits = RowOutcome & { kind: 'waits' }

/** A row that waits and was not edited. `hasArrived`: what it waits for came in the meantime, so it is due at once. */
export function settleWait(
  { held, before }: UnwrittenRow,
  outcome: Waits,
  hasArrived: boolean,
  now: number,
): RowSettlement {
  const transition = hasArrived ? returned(held, null) : (decide(held, outcome) as RowTransition)
  return {
    answer: hasArrived ? { kind: 'returned', afterMs: 0 } : { kind: 'suspended' },
    entry: entryAfter(before, held.attempts, transition, now),
  }
}

/** What becomes of a row that is still eligible, and whose outcome was not written. */
export function settleUnwritten(row: UnwrittenRow, outcome: RowOutcome, now: number): RowSettlement {
  const { held, before, isEdited } = row
  const follows = (transition: RowTransition) => entryAfter(before, held.attempts, transition, now)
  if (outcome.kind === 'later' || outcome.kind === 'returned') {
    const transition = decide(held, outcome) as RowTransition & { to: 'waiting' }
    return { answer: { kind: 'returned', afterMs: transition.afterMs }, entry: follows(transition) }
  }
  const times = (before?.changes ?? 0) + 1
  const afterMs = outcome.kind === 'waits' ? 0 : (outcome.retryAfterMs ?? 0)
  const tooOften = times >= CHANGES_MAX
  // A failure counts if the row is edited during each run: perhaps the handler that fails edits it.
  if (isEdited && !(outcome.kind === 'failed' && tooOften)) {
    const answer = { kind: 'changed', times, backsOffMs: tooOften ? afterMs : null } as const
    return { answer, entry: entryAfterChange(before, afterMs, now) }
  }
  if (outcome.kind === 'waits') throw new Error('settleWait decides for a row that waits')
  const failure =
    outcome.kind === 'failed'
      ? outcome.failure
      : ({ kind: 'error', message: row.problem, stack: null } as const)
  const transition = decide(held, {
    kind: 'failed',
    failure,
    retryAfterMs: outcome.retryAfterMs,
  }) as RowTransition
  const retryInMs = transition.to === 'waiting' ? transition.afterMs : null
  return { answer: { kind: 'failed', failure, retryInMs }, entry: follows(transition) }
}
