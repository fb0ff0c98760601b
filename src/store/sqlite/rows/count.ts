import { type RowCounts, rowCounts } from '../../../model/row.ts'
import type { DiscoverySource } from '../../ports/rows.ts'
import type { Connection } from '../file/connection.ts'
import type { Statements } from '../file/statements.ts'
import { registerDigest } from './digest.ts'
import { validateSource } from './shape.ts'
import type { RowSource } from './source-sql.ts'

/** So many are counted on the spot. */
const COUNTED_HERE_MAX = 20_000

export function isQuicklyCounted(db: Statements, rows: RowSource): boolean {
  const sql = `SELECT count(*) FROM (SELECT 1 FROM ${rows.table} WHERE ${rows.eligible} LIMIT ${COUNTED_HERE_MAX})`
  const kept = 'SELECT count(*) FROM (SELECT 1 FROM gleaner_ledger WHERE discovery = ? LIMIT 1000)'
  const eligible = db.scalar(sql).get() as number
  return eligible < COUNTED_HERE_MAX && (db.scalar(kept).get(rows.source.name) as number) < 1_000
}

/** On one snapshot. */
export function countRows(db: Statements, rows: RowSource, now: number): RowCounts {
  const { name } = rows.source
  const eligible = db.scalar(`SELECT count(*) FROM ${rows.table} WHERE ${rows.eligible}`).get() as number
  const claimed = db
    .scalar(`SELECT count(*) FROM gleaner_claims c WHERE c.discovery = :name
               AND EXISTS (SELECT 1 FROM ${rows.table} WHERE ${rows.isRow('c.row_key')} AND ${rows.eligible})`)
    .get({ name }) as number
  const blocked = db
    .sql(`SELECT count(*) AS kept, coalesce(sum(l.quarantined), 0) AS quarantined FROM gleaner_ledger l
          WHERE l.discovery = :name AND l.blocked_until > :now
            AND NOT EXISTS (SELECT 1 FROM gleaner_claims c WHERE c.discovery = :name AND c.row_key = l.row_key)
            AND EXISTS (SELECT 1 FROM ${rows.table} WHERE ${rows.isRow('l.row_key')} AND ${rows.eligible}
                          AND ${rows.version} = l.row_version)`)
    .get({ name, now }) as { kept: number; quarantined: number }
  return rowCounts(eligible, claimed, blocked, now)
}

/** In a thread of its own. */
export function countAside(connection: Connection, source: DiscoverySource, now: number): Promise<RowCounts> {
  registerDigest(connection.raw)
  const db = connection.statements
  return connection.snapshot(() => countRows(db, validateSource(db, source), now))
}
