import type { Failure } from './task.ts'
import type { Wait } from './wait.ts'

/** What a row found by a discovery is, as every reader sees it. Derived: nothing of it stands in the user's table. */

export const ROW_STATES = ['waiting', 'claimed', 'suspended', 'backing-off', 'quarantined'] as const
/** Where a row that needs work is. */
export type RowState = (typeof ROW_STATES)[number]

/** A row that does not match the condition of its discovery: perhaps it is done. */
export const INELIGIBLE = 'ineligible'

/** A row, with what Gleaner remembers of it. */
export interface RowRecord {
  /** The key as text. For several columns: a JSON array without spaces, as `JSON.stringify` writes it. */
  key: string
  /** Whether it waits, is claimed, is suspended, backs off, is quarantined, or needs no work (`ineligible`, which includes what is done). */
  state: RowState | typeof INELIGIBLE
  /** Attempts so far that count, since the row changed or was released. */
  attempts: number
  /** How often its worker process died while it ran. */
  crashes: number
  /** The error of the last attempt. */
  error: Failure | null
  /** The worker that holds the row. */
  worker: string | null
  /** When the row entered this state. Null for a waiting row, for which this is unknown. */
  since: number | null
  /** When a row that backs off runs again, or the wait of a suspended one times out. */
  nextAt: number | null
  /** The last attempts that did not complete, the oldest first. */
  history: readonly RowAttempt[]
}

/** One attempt at a row that failed. */
export interface RowAttempt {
  /** The number of the attempt, from 1. */
  attempt: number
  /** When it ended, in milliseconds since 1970. */
  at: number
  /** How it ended. */
  outcome: string
  /** What the error said. */
  message: string | null
}

/** How many rows of a discovery are in each state. They are exact, as of `asOf`. */
export interface RowCounts {
  waiting: number
  claimed: number
  suspended: number
  backingOff: number
  quarantined: number
  asOf: number
}

/** What will be done, sooner or later. */
export function unfinishedOf({ waiting, claimed, suspended, backingOff }: RowCounts): number {
  return waiting + claimed + suspended + backingOff
}

/** Claimed rows and rows that are kept back are few and are counted. All other eligible rows wait. */
export function rowCounts(
  eligible: number,
  claimed: number,
  { kept, quarantined, suspended }: { kept: number; quarantined: number; suspended: number },
  asOf: number,
): RowCounts {
  const waiting = eligible - claimed - kept
  return { waiting, claimed, suspended, backingOff: kept - quarantined - suspended, quarantined, asOf }
}

/** A value of a column in your table. */
export type ColumnValue = string | number | bigint | boolean | null | Date | Uint8Array
/** Columns by name: a row as it was read, or what `done` wants to be written. */
export type RowValues = Record<string, ColumnValue>

/** How the run of a row ended, as the worker saw it. */
export type RowOutcome =
  /** `retryAfterMs`: when to try again should it turn out that it cannot be settled so. */
  | { kind: 'completed'; values: RowValues; retryAfterMs: number }
  /** `retryAfterMs` is null when the failure is final whatever attempts are left. */
  | { kind: 'failed'; failure: Failure; retryAfterMs: number | null }
  /** Not a failure of the row: the handler asked for another time, or its worker is broken. The attempt is returned. */
  | { kind: 'later'; afterMs: number; failure?: Failure }
  /** The run waits for one of these, as in `Outcome`. */
  | { kind: 'waits'; waits: readonly Wait[]; afterMs: number | null }
  /** Handed back unfinished or never started. The attempt is returned. */
  | { kind: 'returned' }

/** What became of a row that was handed in. The claim is over in each case. */
export type RowAnswer =
  /** Written, and not eligible any more. */
  | { kind: 'done' }
  /** The row was edited in the meantime: nothing was written, and it stays eligible. `backsOffMs`: it was edited during too many runs in a row. */
  | { kind: 'changed'; times: number; backsOffMs: number | null }
  /** Deleted meanwhile, or no longer eligible: nothing was written. */
  | { kind: 'gone' }
  /** The run failed, or `done` could not be written or left it eligible. `retryInMs` is null when it is quarantined. */
  | { kind: 'failed'; failure: Failure; retryInMs: number | null }
  /** Back to waiting as if this attempt had never been; at once, or after that time. */
  | { kind: 'returned'; afterMs: number }
  /** It waits for a signal or for children. The attempt is returned. */
  | { kind: 'suspended' }
  /** The claim was not ours any more: nothing was written. */
  | { kind: 'refused' }
  /** `done` names a column that is not there, or the key: nothing was written, no attempt is charged, the discovery is paused. */
  | { kind: 'paused'; reason: string }

/** A row among all items: what `ctx.id`, frames and blame call it. Names of discoveries hold no slash, ids of tasks neither. */
export function rowId(discovery: string, key: string): string {
  return `${discovery}/${key}`
}

/** The keys of those of these items that are rows of this discovery. */
export function keysAmong(ids: readonly string[], discovery: string): string[] {
  return ids.flatMap((id) => {
    const row = readRowId(id)
    return row?.discovery === discovery ? [row.key] : []
  })
}

/** Null: it is the id of a task. */
export function readRowId(id: string): { discovery: string; key: string } | null {
  const slash = id.indexOf('/')
  return slash < 0 ? null : { discovery: id.slice(0, slash), key: id.slice(slash + 1) }
}
