import { type RowCounts, rowCounts } from '../../../model/row.ts'
import type { Sql } from '../server/sql.ts'
import type { KnownDiscovery } from './discovery-cache.ts'
import { thenOf } from './source.ts'

/** On one snapshot. */
export async function countRows(
  sql: Sql,
  { source }: KnownDiscovery,
  clockMs: number | null,
): Promise<RowCounts> {
  const { table, name } = source
  const schema = `"${sql.schema}"`
  const there = (key: string) =>
    `SELECT 1 FROM ${source.from} WHERE ${source.hasKey(table, key)} AND ${source.eligible}`
  const same = source.same(table, `${table}.xmin::text`, thenOf('l'))
  const text = `SELECT moment.now, claimed.n AS claimed, kept.n AS kept, kept.quarantined,
      (SELECT pg_catalog.count(*) FROM ${source.from} WHERE ${source.eligible}) AS eligible
    FROM (SELECT coalesce($1::bigint, ${schema}.now_ms()) AS now) moment
    CROSS JOIN LATERAL (
      SELECT pg_catalog.count(*) AS n FROM ${schema}.claims c WHERE c.discovery = ${name} AND EXISTS (${there('c.row_key')})
    ) claimed
    CROSS JOIN LATERAL (
      SELECT pg_catalog.count(*) AS n, pg_catalog.count(*) FILTER (WHERE l.quarantined) AS quarantined FROM ${schema}.ledger l
      WHERE l.discovery = ${name} AND l.blocked_until > moment.now
        AND NOT EXISTS (SELECT 1 FROM ${schema}.claims c WHERE c.discovery = ${name} AND c.row_key = l.row_key)
        AND EXISTS (${there('l.row_key')} AND ${same})
    ) kept`
  const { rows } = await sql.raw.query(text, [clockMs])
  const { now, eligible, claimed, kept, quarantined } = rows[0]!
  return rowCounts(eligible, claimed, { kept, quarantined }, now)
}
