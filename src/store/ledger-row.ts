import type { LedgerEntry } from '../model/ledger.ts'

/** What is remembered of a row, as it stands in the table. SQLite has no booleans. */
export interface LedgerRow {
  attempts: number
  crashes: number
  changes: number
  suspect: boolean | number
  quarantined: boolean | number
  suspended: boolean | number
  blocked_until: number
  error: string | null
  history: string
  since: number
}

export function ledgerEntryOf(row: LedgerRow): LedgerEntry {
  return {
    attempts: row.attempts,
    crashes: row.crashes,
    changes: row.changes,
    suspect: Boolean(row.suspect),
    quarantined: Boolean(row.quarantined),
    suspended: Boolean(row.suspended),
    blockedUntil: row.blocked_until,
    error: row.error === null ? null : JSON.parse(row.error),
    history: JSON.parse(row.history),
  }
}
