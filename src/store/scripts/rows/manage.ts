import { entryReleased } from '../../../model/ledger.ts'
import { rowId } from '../../../model/row.ts'
import { type LedgerRow, ledgerEntryOf } from '../../ledger-row.ts'
import type { RetryRowAnswer } from '../../ports/rows.ts'
import type { Dialect } from '../../sql/dialect.ts'
import type { DiscoverySql } from '../../sql/discovery-sql.ts'
import { change, rows, type Script } from '../../sql/script.ts'
import { type Fragment, sql } from '../../sql/sql.ts'
import { forgetWaits } from '../waits.ts'
import { readRow } from './records.ts'

export function* retryRow(db: Dialect, known: DiscoverySql, key: string): Script<RetryRowAnswer> {
  const row = yield* readRow(db, known, key)
  if (row === null) return 'gone'
  if (row.state === 'claimed') return 'claimed'
  yield* release(db, known.name, sql`row_key = ${key}`)
  return row.state === 'waiting' ? 'waiting' : 'retried'
}

export interface ReleaseStep {
  limit: number
  after: string | null
}

/** A bounded step through the rows in quarantine. */
export function* releaseRows(
  db: Dialect,
  discovery: string,
  { limit, after }: ReleaseStep,
): Script<{ released: number; next: string | null }> {
  const which = sql`quarantined = ${true} AND row_key > ${after ?? ''} ORDER BY row_key LIMIT ${limit}`
  const keys = yield* release(db, discovery, which)
  return { released: keys.length, next: keys.length < limit ? null : keys.at(-1)! }
}

/** The history stays for a row that runs alone next, which is all that `entryReleased` keeps. */
function* release(db: Dialect, discovery: string, which: Fragment): Script<string[]> {
  const entries = yield* rows<LedgerRow & { row_key: string }>(
    sql`SELECT * FROM gleaner.ledger WHERE discovery = ${discovery} AND ${which} ${db.forUpdate}`,
  )
  yield* forgetWaits(
    db,
    entries.map((row) => rowId(discovery, row.row_key)),
  )
  const released = entries.map((row) => ({ key: row.row_key, entry: entryReleased(ledgerEntryOf(row)) }))
  const forgotten = released.filter(({ entry }) => entry === null).map(({ key }) => key)
  const kept = released.filter(({ entry }) => entry !== null)
  if (forgotten.length > 0)
    yield* change(
      sql`DELETE FROM gleaner.ledger WHERE discovery = ${discovery} AND row_key ${db.oneOf(forgotten)}`,
    )
  const entry = kept[0]?.entry
  if (entry != null)
    yield* change(sql`
      UPDATE gleaner.ledger SET attempts = ${entry.attempts}, crashes = ${entry.crashes}, changes = ${entry.changes},
        suspect = ${entry.suspect}, quarantined = ${entry.quarantined}, suspended = ${entry.suspended}, blocked_until = ${entry.blockedUntil}, error = NULL,
        since = ${db.now}
      WHERE discovery = ${discovery} AND row_key ${db.oneOf(kept.map(({ key }) => key))}`)
  return released.map(({ key }) => key)
}
