import { entryReleased } from '../../../model/ledger.ts'
import type { RetryRowAnswer } from '../../ports/rows.ts'
import { unknownDiscovery } from '../../source.ts'
import type { Sql } from '../server/sql.ts'
import type { KnownDiscovery } from './discovery-cache.ts'
import { entryOf, type LedgerRow, remember } from './ledger.ts'
import { readRow } from './records.ts'

type KeptRow = LedgerRow & { row_key: string; row_version: string | null; row_hash: string | null }

export async function stateToRetry(
  sql: Sql,
  known: KnownDiscovery,
  key: string,
  now: number,
): Promise<RetryRowAnswer> {
  const row = await readRow(sql, known, key, now)
  if (row === null) return 'gone'
  return row.state === 'claimed' || row.state === 'waiting' ? row.state : 'retried'
}

/** In a transaction: nothing keeps it back any more. */
export async function releaseRow(
  sql: Sql,
  { name }: KnownDiscovery,
  key: string,
  now: number,
): Promise<void> {
  await release(sql, name, 'row_key = $2', [key], now)
}

/** In a transaction. */
export async function releaseRows(
  sql: Sql,
  { name }: KnownDiscovery,
  { limit, after }: { limit: number; after: string | null },
  now: number,
): Promise<{ released: number; next: string | null }> {
  const which = 'quarantined AND row_key > $2 ORDER BY row_key LIMIT $3'
  const keys = await release(sql, name, which, [after ?? '', limit], now)
  return { released: keys.length, next: keys.length < limit ? null : keys.at(-1)! }
}

async function release(
  sql: Sql,
  discovery: string,
  which: string,
  values: unknown[],
  now: number,
): Promise<string[]> {
  const rows = await sql.rows<KeptRow>(
    `SELECT *, row_hash::text AS row_hash FROM gleaner.ledger WHERE discovery = $1 AND ${which} FOR UPDATE`,
    [discovery, ...values],
  )
  const released = rows.map((row) => {
    const { row_key: key, row_version: version, row_hash: hash } = row
    return { discovery, key, version, hash, entry: entryReleased(entryOf(row)) }
  })
  await remember(sql, released, now)
  return rows.map((row) => row.row_key)
}

export async function setDiscoveryPaused(sql: Sql, discovery: string, paused: boolean): Promise<void> {
  const changed = await sql.run(
    'UPDATE gleaner.discoveries SET paused = $2, paused_reason = NULL WHERE name = $1',
    [discovery, paused],
  )
  if (changed === 0) throw unknownDiscovery(discovery)
}
