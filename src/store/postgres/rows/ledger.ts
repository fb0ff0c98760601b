import type { LedgerEntry } from '../../../model/ledger.ts'
import type { Held } from '../../../model/outcome.ts'
import { rowId } from '../../../model/row.ts'
import { type LedgerRow, ledgerEntryOf } from '../../ledger-row.ts'
import type { Sql } from '../server/sql.ts'
import { isOfRowAsFound, thenOf } from './source.ts'

/** A claim that was just ended. */
export interface EndedClaim {
  discovery: string
  key: string
  version: string | null
  hash: string | null
  session: number
  attempt: number
  entry: LedgerEntry | null
  held: Held
}

interface EndedRow {
  discovery: string
  row_key: string
  row_version: string | null
  row_hash: string | null
  session: number
  attempt: number
  started_at: number | null
}

/** In a transaction: ends these claims and says what they were. `which` is a condition on `c`, and `given` what it may name. */
export async function endClaims(
  sql: Sql,
  which: string,
  values: readonly unknown[],
  given = '',
): Promise<EndedClaim[]> {
  const rows = await sql.rows<EndedRow>(
    `DELETE FROM gleaner.claims c ${given} WHERE ${which}
     RETURNING c.discovery, c.row_key, c.row_version, c.row_hash::text AS row_hash, c.session, c.attempt, c.started_at`,
    values,
  )
  return rows.map((row) => ({
    discovery: row.discovery,
    key: row.row_key,
    version: row.row_version,
    hash: row.row_hash,
    session: row.session,
    attempt: row.attempt,
    entry: null,
    held: {
      ...heldRow(UNKNOWN, rowId(row.discovery, row.row_key), row.attempt, null),
      started: row.started_at !== null,
    },
  }))
}

const UNKNOWN = { maxAttempts: 3 }

/** A row for the decisions that tasks are subject to as well. */
export function heldRow(
  { maxAttempts, crashLimit }: { maxAttempts: number; crashLimit?: number | undefined },
  id: string,
  attempts: number,
  entry: LedgerEntry | null,
): Omit<Held, 'started'> {
  const { crashes = 0, suspect = false } = entry ?? {}
  return { id, attempts, maxAttempts, crashLimit, crashes, suspect, cancelRequested: false }
}

/**
 * What the ledger says of these rows, by id: of the row as it was claimed. What was written of it before an edit
 * does not count.
 */
export async function readEntries(
  sql: Sql,
  claims: readonly EndedClaim[],
): Promise<Map<string, LedgerEntry>> {
  const rows = await sql.rows<LedgerRow & { discovery: string; row_key: string }>(
    `SELECT l.* FROM unnest($1::text[], $2::text[], $3::text[], $4::bigint[]) c(discovery, row_key, row_version, row_hash)
     JOIN gleaner.ledger l ON l.discovery = c.discovery AND l.row_key = c.row_key
       AND (l.row_version IS NOT DISTINCT FROM c.row_version OR l.row_hash = c.row_hash OR ${isOfRowAsFound(thenOf('l'))})`,
    [
      claims.map((claim) => claim.discovery),
      claims.map((claim) => claim.key),
      claims.map((claim) => claim.version),
      claims.map((claim) => claim.hash),
    ],
  )
  return new Map(rows.map((row) => [rowId(row.discovery, row.row_key), ledgerEntryOf(row)]))
}

/** What is to be remembered of a row from now on; null: nothing. */
export interface Remembered {
  discovery: string
  key: string
  version: string | null
  hash: string | null
  entry: LedgerEntry | null
}

export async function remember(sql: Sql, rows: readonly Remembered[], now: number): Promise<void> {
  const written = rows.filter(({ entry }) => entry !== null)
  const forgotten = rows.filter(({ entry }) => entry === null)
  if (forgotten.length > 0) {
    await sql.run(
      `DELETE FROM gleaner.ledger l USING unnest($1::text[], $2::text[]) given(discovery, row_key)
       WHERE l.discovery = given.discovery AND l.row_key = given.row_key`,
      [forgotten.map((row) => row.discovery), forgotten.map((row) => row.key)],
    )
  }
  if (written.length === 0) return
  const of = <T>(read: (entry: LedgerEntry) => T) => written.map(({ entry }) => read(entry!))
  await sql.run(
    `INSERT INTO gleaner.ledger (discovery, row_key, row_version, row_hash, attempts, crashes, changes, suspect, quarantined,
       suspended, blocked_until, error, history, since)
     SELECT given.*, $14::bigint FROM unnest($1::text[], $2::text[], $3::text[], $4::bigint[], $5::int[], $6::int[], $7::int[],
       $8::boolean[], $9::boolean[], $10::boolean[], $11::bigint[], $12::text[], $13::text[]) given
     ORDER BY 1, 2
     ON CONFLICT (discovery, row_key) DO UPDATE SET row_version = excluded.row_version, row_hash = excluded.row_hash,
       attempts = excluded.attempts, crashes = excluded.crashes, changes = excluded.changes, suspect = excluded.suspect,
       quarantined = excluded.quarantined, suspended = excluded.suspended, blocked_until = excluded.blocked_until, error = excluded.error,
       history = excluded.history, since = excluded.since`,
    [
      written.map((row) => row.discovery),
      written.map((row) => row.key),
      written.map((row) => row.version),
      written.map((row) => row.hash),
      of((entry) => entry.attempts),
      of((entry) => entry.crashes),
      of((entry) => entry.changes),
      of((entry) => entry.suspect),
      of((entry) => entry.quarantined),
      of((entry) => entry.suspended),
      of((entry) => entry.blockedUntil),
      of((entry) => (entry.error === null ? null : JSON.stringify(entry.error))),
      of((entry) => JSON.stringify(entry.history)),
      now,
    ],
  )
}
