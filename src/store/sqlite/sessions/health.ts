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
import type { Statements } from '../file/statements.ts'

/** Inside a write transaction. */
export function noteHealth(db: Statements, notes: readonly NewHealthNote[], now: number): void {
  for (const { component, status, changedFrom, agoMs } of notes) {
    db.sql('INSERT INTO gleaner_health (at, component, status, changed_from) VALUES (?, ?, ?, ?)').run(
      now - agoMs,
      component,
      status,
      changedFrom,
    )
  }
  // Ids grow with time: the oldest are at the head of the table, and the condition stops the walk.
  db.sql(`DELETE FROM gleaner_health WHERE id IN (
            SELECT id FROM (SELECT id, at FROM gleaner_health ORDER BY id LIMIT ?)
            WHERE at < ? OR id <= (SELECT max(id) FROM gleaner_health) - ?)`).run(
    HEALTH_PRUNED_MAX + notes.length,
    now - HEALTH_KEPT_MS,
    HEALTH_LINES_MAX,
  )
}

export function readHealth(
  db: Statements,
  { component, changes }: HealthFilter,
  { limit, cursor }: PageRequest,
): Page<HealthRecord> {
  const [before = Number.MAX_SAFE_INTEGER] = readCursor(cursor, 1)
  const conditions = [
    'id < ?',
    ...(component === undefined ? [] : ['component = ?']),
    ...(changes === true ? ['changed_from IS NOT NULL'] : []),
  ]
  const rows = db
    .sql(`SELECT * FROM gleaner_health WHERE ${conditions.join(' AND ')} ORDER BY id DESC LIMIT ?`)
    .all(...[before, ...(component === undefined ? [] : [component]), limit + 1]) as HealthRow[]
  return healthPage(rows, limit)
}
