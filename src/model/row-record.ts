import { type LedgerEntry, nextAtOf } from './ledger.ts'
import { INELIGIBLE, type RowRecord, type RowState } from './row.ts'

/** What people see of an eligible row. `entry`: what the ledger remembers of the row as it is now. */
export function rowRecord(
  key: string,
  claim: { since: number; worker: string | null } | null,
  entry: (LedgerEntry & { since: number }) | null,
  now: number,
): RowRecord {
  const state = claim === null ? stateOf(entry, now) : 'claimed'
  return {
    key,
    state,
    attempts: entry?.attempts ?? 0,
    crashes: entry?.crashes ?? 0,
    error: entry?.error ?? null,
    worker: claim?.worker ?? null,
    since: claim?.since ?? (state === 'waiting' ? null : (entry?.since ?? null)),
    nextAt: nextAtOf(state, entry?.blockedUntil),
    history: entry?.history ?? [],
  }
}

/** The row is the only state: nothing is remembered of one that needs no work. */
export function ineligibleRecord(key: string): RowRecord {
  return {
    ...{ key, state: INELIGIBLE, attempts: 0, crashes: 0, error: null },
    ...{ worker: null, since: null, nextAt: null, history: [] },
  }
}

function stateOf(entry: LedgerEntry | null, now: number): RowState {
  if (entry?.quarantined) return 'quarantined'
  if (entry === null || entry.blockedUntil <= now) return 'waiting'
  return entry.suspended ? 'suspended' : 'backing-off'
}
