import { HEALTH_KEPT_MS, HEALTH_LINES_MAX, type HealthRecord } from '../../../model/health.ts'
import type { Page } from '../../../model/task.ts'
import type { PageRequest } from '../../contract.ts'
import { readCursor } from '../../cursor.ts'
import {
  HEALTH_PRUNED_MAX,
  type HealthFilter,
  type HealthRow,
  healthPage,
  type NewHealthNote,
} from '../../health-row.ts'
import type { Sql } from '../server/sql.ts'

/** In a transaction. */
export async function noteHealth(sql: Sql, notes: readonly NewHealthNote[], now: number): Promise<void> {
  await sql.run(
    `INSERT INTO gleaner.health (at, component, status, changed_from)
     SELECT $1::bigint - ago, component, status, changed_from
     FROM unnest($2::bigint[], $3::text[], $4::text[], $5::text[]) n(ago, component, status, changed_from)`,
    [
      now,
      notes.map((note) => note.agoMs),
      notes.map((note) => note.component),
      notes.map((note) => note.status),
      notes.map((note) => note.changedFrom),
    ],
  )
  // Ids grow with time: the oldest are at the head of the table. Supervisors that do it at once do not wait for each other.
  await sql.run(
    `DELETE FROM gleaner.health WHERE id IN (
       SELECT id FROM (SELECT id, at FROM gleaner.health ORDER BY id LIMIT $1) oldest
       WHERE at < $2 OR id <= (SELECT pg_catalog.max(id) FROM gleaner.health) - $3
       ORDER BY id)`,
    [HEALTH_PRUNED_MAX + notes.length, now - HEALTH_KEPT_MS, HEALTH_LINES_MAX],
  )
}

export async function readHealth(
  sql: Sql,
  { component, changes }: HealthFilter,
  { limit, cursor }: PageRequest,
): Promise<Page<HealthRecord>> {
  const [before = Number.MAX_SAFE_INTEGER] = readCursor(cursor, 1)
  const conditions = [
    'id < $1',
    ...(component === undefined ? [] : ['component = $3']),
    ...(changes === true ? ['changed_from IS NOT NULL'] : []),
  ]
  const rows = await sql.rows<HealthRow>(
    `SELECT * FROM gleaner.health WHERE ${conditions.join(' AND ')} ORDER BY id DESC LIMIT $2`,
    [before, limit + 1, ...(component === undefined ? [] : [component])],
  )
  return healthPage(rows, limit)
}
