import { forgetOutdated, outdatedEntries } from '../../scripts/rows/repair.ts'
import { driveOn, sqliteDialect } from '../file/scripts.ts'
import type { Statements } from '../file/statements.ts'
import type { KnownDiscovery, Review } from './discovery-cache.ts'

/** These scripts ask for no time. */
const DIALECT = sqliteDialect(() => Number.NaN)

/** Entries that one look compares with their rows. */
const REVIEWED_MAX = 200

/** Entries of rows that were edited since or are no longer eligible: a bounded step, and round again. */
export function reviewEntries(db: Statements, known: KnownDiscovery, review: Review): string[] {
  const keys = db
    .scalar('SELECT row_key FROM gleaner_ledger WHERE discovery = ? AND row_key > ? ORDER BY row_key LIMIT ?')
    .all(known.name, review.after, REVIEWED_MAX) as string[]
  review.after = keys.length < REVIEWED_MAX ? '' : keys.at(-1)!
  if (keys.length === 0) return []
  return driveOn(db, outdatedEntries(DIALECT, known.sql, keys)).map(({ key }) => key)
}

/** Inside a write transaction. An entry whose row was edited back in the meantime stays. */
export function forgetReviewed(db: Statements, known: KnownDiscovery, keys: readonly string[]): void {
  driveOn(db, forgetOutdated(DIALECT, known.sql, keys))
}
