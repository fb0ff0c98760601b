import type { LedgerEntry } from '../../../model/ledger.ts'
import type { LedgerRow } from '../../ledger-row.ts'
import type { Statements } from '../file/statements.ts'

type StoredEntry = LedgerRow & { row_version: string }

export function readEntry(db: Statements, discovery: string, key: string): StoredEntry | undefined {
  return db.sql('SELECT * FROM gleaner_ledger WHERE discovery = ? AND row_key = ?').get(discovery, key) as
    | StoredEntry
    | undefined
}

/** Null: nothing is to be remembered. */
export function writeEntry(
  db: Statements,
  { discovery, key, version }: { discovery: string; key: string; version: string },
  entry: LedgerEntry | null,
  now: number,
): void {
  if (entry === null) return forgetEntry(db, discovery, key)
  db.sql(`INSERT OR REPLACE INTO gleaner_ledger (discovery, row_key, row_version, attempts, crashes, changes, suspect,
            quarantined, suspended, blocked_until, error, history, since) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`).run(
    discovery,
    key,
    version,
    entry.attempts,
    entry.crashes,
    entry.changes,
    entry.suspect ? 1 : 0,
    entry.quarantined ? 1 : 0,
    entry.suspended ? 1 : 0,
    entry.blockedUntil,
    entry.error === null ? null : JSON.stringify(entry.error),
    JSON.stringify(entry.history),
    now,
  )
}

export function forgetEntry(db: Statements, discovery: string, key: string): void {
  db.sql('DELETE FROM gleaner_ledger WHERE discovery = ? AND row_key = ?').run(discovery, key)
}

/** Almost always there is nothing to forget. */
export function forgetEntries(db: Statements, discovery: string, keys: string): void {
  if (db.sql('SELECT 1 FROM gleaner_ledger WHERE discovery = ? LIMIT 1').get(discovery) === undefined) return
  db.sql(
    'DELETE FROM gleaner_ledger WHERE discovery = ? AND row_key IN (SELECT value FROM json_each(?))',
  ).run(discovery, keys)
}
