import { type RowCounts, rowCounts } from '../../../model/row.ts'
import type { Dialect } from '../../sql/dialect.ts'
import type { DiscoverySql } from '../../sql/discovery-sql.ts'
import { one, type Script } from '../../sql/script.ts'
import { sql } from '../../sql/sql.ts'
import { eligibleRow } from './repair.ts'

/** One statement, and so one moment. */
export function* countRows(db: Dialect, known: DiscoverySql): Script<RowCounts> {
  const row = yield* one<
    Record<'now' | 'eligible' | 'claimed' | 'kept' | 'quarantined' | 'suspended', number>
  >(sql`
    SELECT moment.now, kept.n AS kept, kept.quarantined, kept.suspended,
      (SELECT pg_catalog.count(*) FROM ${known.table} WHERE ${known.eligible}) AS eligible,
      (SELECT pg_catalog.count(*) FROM gleaner.claims AS gleaner_claim
       WHERE gleaner_claim.discovery = ${known.name} AND EXISTS (${eligibleRow(known, 'gleaner_claim')})) AS claimed
    FROM (SELECT ${db.now} AS now) AS moment CROSS JOIN (
      SELECT pg_catalog.count(*) AS n, pg_catalog.count(*) FILTER (WHERE gleaner_entry.quarantined = ${true}) AS quarantined,
        pg_catalog.count(*) FILTER (WHERE gleaner_entry.suspended = ${true}) AS suspended
      FROM gleaner.ledger AS gleaner_entry
      WHERE gleaner_entry.discovery = ${known.name} AND gleaner_entry.blocked_until > ${db.now}
        AND NOT EXISTS (SELECT 1 FROM gleaner.claims AS c WHERE c.discovery = gleaner_entry.discovery AND c.row_key = gleaner_entry.row_key)
        AND EXISTS (${eligibleRow(known, 'gleaner_entry')} AND ${known.isAsIn('gleaner_entry')})) AS kept`)
  const { now, eligible, claimed, kept, quarantined, suspended } = row!
  return rowCounts(eligible, claimed, { kept, quarantined, suspended }, now)
}
