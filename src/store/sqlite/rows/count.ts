import type { RowCounts } from '../../../model/row.ts'
import type { DiscoverySource } from '../../ports/rows.ts'
import { countRows } from '../../scripts/rows/count.ts'
import type { DiscoverySql } from '../../sql/discovery-sql.ts'
import type { Connection } from '../file/connection.ts'
import { driveOn, sqliteDialect } from '../file/scripts.ts'
import type { Statements } from '../file/statements.ts'
import { registerDigest } from './digest.ts'
import { validateSource } from './shape.ts'
import { discoverySql, type RowSource } from './source-sql.ts'

/** So many are counted on the spot. */
const COUNTED_HERE_MAX = 20_000

export function isQuicklyCounted(db: Statements, rows: RowSource): boolean {
  const sql = `SELECT count(*) FROM (SELECT 1 FROM ${rows.table} WHERE ${rows.eligible} LIMIT ${COUNTED_HERE_MAX})`
  const kept = 'SELECT count(*) FROM (SELECT 1 FROM gleaner_ledger WHERE discovery = ? LIMIT 1000)'
  const eligible = db.scalar(sql).get() as number
  return eligible < COUNTED_HERE_MAX && (db.scalar(kept).get(rows.source.name) as number) < 1_000
}

export function countHere(db: Statements, known: DiscoverySql, now: number): RowCounts {
  return driveOn(
    db,
    countRows(
      sqliteDialect(() => now),
      known,
    ),
  )
}

/** In a thread of its own. */
export function countAside(connection: Connection, source: DiscoverySource, now: number): Promise<RowCounts> {
  registerDigest(connection.raw)
  const db = connection.statements
  return connection.snapshot(() => countHere(db, discoverySql(validateSource(db, source)), now))
}
