import type { Suspended, Waiting } from './outcome.ts'
import type { RowAttempt, RowState } from './row.ts'
import type { Failure } from './task.ts'

/** What is remembered of a row that did not simply succeed. Without an entry a row is as good as new. */
export interface LedgerEntry {
  attempts: number
  crashes: number
  /** How often in a row it was edited while being worked on. */
  changes: number
  /** Next claimed alone, by an otherwise empty worker. */
  suspect: boolean
  quarantined: boolean
  /** It waits for a signal or for children. */
  suspended: boolean
  /** Not claimed before; 0 when nothing keeps it back, `NEVER` while it is quarantined. */
  blockedUntil: number
  error: Failure | null
  /** The last attempts that did not end well, the oldest first. */
  history: readonly RowAttempt[]
}

/** A time that does not come. */
export const NEVER = Number.MAX_SAFE_INTEGER

/** Of a suspended row without a time-out: only what it waits for resumes it. */
export const UNTIL_RESUMED = NEVER - 1

/** Edited this often in a row while being worked on, a row backs off: perhaps its own handler writes it. */
export const CHANGES_MAX = 3

const HISTORY_MAX = 10

export const BLANK: LedgerEntry = {
  attempts: 0,
  crashes: 0,
  changes: 0,
  suspect: false,
  quarantined: false,
  suspended: false,
  blockedUntil: 0,
  error: null,
  history: [],
}

/** What became of a held row, as `decide` and `giveBack` say it; a row is never cancelled. */
export type RowTransition =
  | Suspended
  | Waiting
  | { to: 'failed'; failure: Failure; outcome: string; crashes: number }

/** What is remembered afterwards; null: nothing need be. `attempt` is the one that ended, from 1. */
export function entryAfter(
  before: LedgerEntry | null,
  attempt: number,
  transition: RowTransition,
  now: number,
): LedgerEntry | null {
  const known = before ?? BLANK
  if (transition.to === 'suspended') {
    const { attempts, afterMs } = transition
    const blockedUntil = afterMs === null ? UNTIL_RESUMED : now + afterMs
    return { ...known, attempts, suspended: true, quarantined: false, blockedUntil }
  }
  const { crashes, failure, outcome } = transition
  const history = isTold(outcome)
    ? [...known.history, { attempt, at: now, outcome, message: failure?.message ?? null }].slice(-HISTORY_MAX)
    : known.history
  if (transition.to === 'failed') {
    return {
      ...BLANK,
      attempts: attempt,
      crashes,
      quarantined: true,
      blockedUntil: NEVER,
      error: failure,
      history,
    }
  }
  const { attempts, suspect, afterMs } = transition
  const entry = {
    ...known,
    attempts,
    crashes,
    suspect,
    quarantined: false,
    suspended: false,
    blockedUntil: afterMs > 0 ? now + afterMs : 0,
    error: failure ?? known.error,
    history,
  }
  return isBlank(entry) ? null : entry
}

/** The row was edited during its run, so the attempt does not count. After too many edits in a row it backs off for `afterMs`. */
export function entryAfterChange(before: LedgerEntry | null, afterMs: number, now: number): LedgerEntry {
  const known = { ...(before ?? BLANK), suspended: false }
  const changes = known.changes + 1
  if (changes < CHANGES_MAX) return { ...known, changes, blockedUntil: 0, quarantined: false }
  return { ...known, changes, blockedUntil: now + afterMs, quarantined: false, error: editedAgain(changes) }
}

/** An operator wants it tried at once, with all its attempts. Null: nothing need be remembered. */
export function entryReleased(before: LedgerEntry): LedgerEntry | null {
  const suspect = before.suspect || before.crashes > 0
  return suspect ? { ...BLANK, suspect, history: before.history } : null
}

/** When something changes by itself: it runs again, or its wait times out. */
export function nextAtOf(state: RowState, blockedUntil: number | undefined): number | null {
  if (state !== 'backing-off' && state !== 'suspended') return null
  return blockedUntil === undefined || blockedUntil === UNTIL_RESUMED ? null : blockedUntil
}

function isBlank({ attempts, crashes, changes, suspect, blockedUntil }: LedgerEntry): boolean {
  return attempts === 0 && crashes === 0 && changes === 0 && !suspect && blockedUntil === 0
}

/** Handed back or put off is no misfortune. */
function isTold(outcome: string | null): outcome is string {
  return outcome !== null && outcome !== 'returned' && outcome !== 'later'
}

function editedAgain(times: number): Failure {
  return {
    kind: 'error',
    message:
      `the row was edited during its run, ${times} times in a row. Does its own handler write it? ` +
      'Return the values from `done`, or write them in ctx.complete',
    stack: null,
  }
}
