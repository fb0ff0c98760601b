import { HEALTH_KEPT_MS, HEALTH_LINES_MAX } from '../../model/health.ts'
import { readCursor } from '../cursor.ts'
import { HEALTH_PRUNED_MAX, type HealthRow, healthPage } from '../health-row.ts'
import type { HealthBook } from '../ports/health.ts'
import { change, rows } from '../sql/script.ts'
import type { Scripts } from '../sql/scripts.ts'
import { joined, sql } from '../sql/sql.ts'

/** What the health monitors of supervisors saw. */
export function healthHistory({ db, read, writeCheaply }: Scripts): HealthBook {
  return {
    noteHealth: (notes) =>
      writeCheaply(function* () {
        const now = yield* db.time()
        for (const { component, status, changedFrom, agoMs } of notes) {
          yield* change(sql`
            INSERT INTO gleaner.health (at, component, status, changed_from)
            VALUES (${now - agoMs}, ${component}, ${status}, ${changedFrom})`)
        }
        // Ids grow with time: the oldest are at the head of the table. Supervisors that prune at the same time go in one
        // order, so that neither waits for the other.
        yield* change(sql`
          DELETE FROM gleaner.health WHERE id IN (
            SELECT id FROM (
              SELECT id, at FROM gleaner.health ORDER BY id LIMIT ${HEALTH_PRUNED_MAX + notes.length}) AS oldest
            WHERE at < ${now - HEALTH_KEPT_MS}
              OR id <= (SELECT pg_catalog.max(id) FROM gleaner.health) - ${HEALTH_LINES_MAX}
            ORDER BY id)`)
      }),
    healthHistory: ({ component, changes }, { limit, cursor }) =>
      read(function* () {
        const [before = Number.MAX_SAFE_INTEGER] = readCursor(cursor, 1)
        const conditions = [
          sql`id < ${before}`,
          ...(component === undefined ? [] : [sql`component = ${component}`]),
          ...(changes === true ? [sql`changed_from IS NOT NULL`] : []),
        ]
        const found = yield* rows<HealthRow>(sql`
          SELECT * FROM gleaner.health WHERE ${joined(conditions, ' AND ')} ORDER BY id DESC LIMIT ${limit + 1}`)
        return healthPage(found, limit)
      }),
  }
}
