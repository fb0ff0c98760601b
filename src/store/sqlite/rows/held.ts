import { entryAfter, type RowTransition } from '../../../model/ledger.ts'
import type { Held } from '../../../model/outcome.ts'
import { rowId } from '../../../model/row.ts'
import { ledgerEntryOf } from '../../ledger-row.ts'
import { type Filled, inSlots, runInSlots } from '../file/slots.ts'
import type { Statements } from '../file/statements.ts'
import type { DiscoveryCache } from './discovery-cache.ts'
import { forgetEntry, readEntry, writeEntry } from './ledger.ts'

interface ClaimRow {
  discovery: string
  row_key: string
  session: number
  fence: number
  row_version: string
  attempt: number
  claimed_at: number
  started_at: number | null
}

/** A held row, as decisions need it. */
export interface HeldRow extends Held {
  discovery: string
  key: string
  session: number
  version: string
}

/** The claim of a row, if this session holds it under this fence. */
export function claimHeldBy(
  db: Statements,
  { discovery, key, fence, session }: { discovery: string; key: string; fence: number; session: number },
): ClaimRow | null {
  const claim = db
    .sql('SELECT * FROM gleaner_claims WHERE discovery = ? AND row_key = ? AND fence = ? AND session = ?')
    .get(discovery, key, fence, session) as ClaimRow | undefined
  return claim ?? null
}

const UNKNOWN = { maxAttempts: 3 }

/** All its claims: there are few at any time. */
export function rowsHeldBy(db: Statements, book: DiscoveryCache, session: number): HeldRow[] {
  const claims = db.sql('SELECT * FROM gleaner_claims WHERE session = ?').all(session) as ClaimRow[]
  if (claims.length === 0) return []
  const sources = new Map(book.all().map((source) => [source.name, source]))
  return claims.map((claim) => heldRow(db, claim, sources.get(claim.discovery) ?? UNKNOWN))
}

export function heldRow(
  db: Statements,
  claim: ClaimRow,
  source: { maxAttempts: number; crashLimit?: number },
): HeldRow {
  const { discovery, row_key: key, attempt, session } = claim
  const entry = readEntry(db, discovery, key)
  return {
    id: rowId(discovery, key),
    discovery,
    key,
    session,
    version: claim.row_version,
    attempts: attempt,
    maxAttempts: source.maxAttempts,
    crashLimit: source.crashLimit,
    crashes: entry?.crashes ?? 0,
    suspect: entry?.suspect === 1,
    started: claim.started_at !== null,
    cancelRequested: false,
  }
}

export function endClaim(db: Statements, discovery: string, key: string): void {
  db.sql('DELETE FROM gleaner_claims WHERE discovery = ? AND row_key = ?').run(discovery, key)
}

const END_CLAIMS = inSlots(
  1,
  (keys) => `DELETE FROM gleaner_claims WHERE discovery = @discovery AND row_key IN (${keys})`,
)

export function endClaims(db: Statements, discovery: string, keys: Filled): number {
  return runInSlots(db, END_CLAIMS, keys, { discovery })
}

/**
 * Executes what was decided for a held row whose session ended. The ledger speaks of the row as it is now: what its handler
 * itself wrote before it died must not make it look edited.
 */
export function giveRowBack(
  db: Statements,
  book: DiscoveryCache,
  row: HeldRow,
  { transition, now }: { transition: RowTransition; now: number },
): void {
  const { discovery, key } = row
  endClaim(db, discovery, key)
  const version = versionNow(db, book, row)
  if (version === null) return forgetEntry(db, discovery, key)
  const before = readEntry(db, discovery, key)
  const entry = entryAfter(before === undefined ? null : ledgerEntryOf(before), row.attempts, transition, now)
  writeEntry(db, { discovery, key, version }, entry, now)
}

/** Null: the row is gone or no longer eligible, or its state cannot be read. */
function versionNow(db: Statements, book: DiscoveryCache, { discovery, key }: HeldRow): string | null {
  try {
    const { statements } = book.get(discovery)
    return (db.scalar(statements.versionOf).get({ key }) as string | undefined) ?? null
  } catch {
    // The table is not what it was: whatever comes of it is a new row.
    return null
  }
}

/** The worker was broken, not this row: what it was charged is taken back. */
export function forgiveRow(db: Statements, discovery: string, key: string): void {
  const { changes } = db
    .sql(`UPDATE gleaner_ledger SET crashes = crashes - 1, attempts = max(0, attempts - 1)
          WHERE discovery = ? AND row_key = ? AND crashes > 0 AND quarantined = 0`)
    .run(discovery, key)
  if (changes === 0) return
  db.sql('UPDATE gleaner_claims SET attempt = max(1, attempt - 1) WHERE discovery = ? AND row_key = ?').run(
    discovery,
    key,
  )
}
