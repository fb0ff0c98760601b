import { entryReleased } from '../../../model/ledger.ts'
import type { RetryRowAnswer } from '../../ports/rows.ts'
import type { Statements } from '../file/statements.ts'
import type { KnownDiscovery } from './discovery-cache.ts'
import { entryOf, readEntry, writeEntry } from './ledger.ts'
import { readRow } from './records.ts'

/** Inside a write transaction. */
export function retryRow(db: Statements, known: KnownDiscovery, key: string, now: number): RetryRowAnswer {
  const row = readRow(db, known, key, now)
  if (row === null) return 'gone'
  if (row.state === 'claimed') return 'claimed'
  release(db, known.name, key, now)
  return row.state === 'waiting' ? 'waiting' : 'retried'
}

export function releaseRows(
  db: Statements,
  { name }: KnownDiscovery,
  { limit, after }: { limit: number; after: string | null },
  now: number,
): { released: number; next: string | null } {
  const keys = db
    .scalar(`SELECT row_key FROM gleaner_ledger WHERE discovery = ? AND row_key > ? AND quarantined = 1
             ORDER BY row_key LIMIT ?`)
    .all(name, after ?? '', limit) as string[]
  for (const key of keys) release(db, name, key, now)
  return { released: keys.length, next: keys.length < limit ? null : keys.at(-1)! }
}

function release(db: Statements, discovery: string, key: string, now: number): void {
  const entry = readEntry(db, discovery, key)
  if (entry !== undefined)
    writeEntry(db, discovery, key, entry.row_version, entryReleased(entryOf(entry)), now)
}

export function setDiscoveryPaused(db: Statements, discovery: string, paused: boolean): void {
  db.sql('UPDATE gleaner_discoveries SET paused = ?, paused_reason = NULL WHERE name = ?').run(
    paused ? 1 : 0,
    discovery,
  )
}
