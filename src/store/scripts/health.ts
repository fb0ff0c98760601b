import { componentAt, HEALTH_KEPT_MS, HEALTH_LINES_MAX, LOST_KEPT_MS } from '../../model/health.ts'
import { readCursor } from '../cursor.ts'
import {
  COMPONENTS_LISTED_MAX,
  type ComponentRow,
  HEALTH_PRUNED_MAX,
  type HealthRow,
  healthPage,
  reportedComponent,
} from '../health-row.ts'
import type { HealthFilter, HealthHistoryStore, NewHealthNote } from '../ports/health.ts'
import { change, rows, type Script } from '../sql/script.ts'
import type { Scripts } from '../sql/scripts.ts'
import { joined, sql } from '../sql/sql.ts'

/** What health monitors saw. */
export function healthHistory({ db, read, writeCheaply }: Scripts): HealthHistoryStore {
  return {
    noteHealth: (notes, freshMs) =>
      writeCheaply(function* () {
        const now = yield* db.time()
        yield* append(notes, now)
        if (freshMs !== undefined) yield* reportComponents(notes, freshMs, now)
      }),
    healthHistory: (filter, { limit, cursor }) =>
      read(function* () {
        const [before = Number.MAX_SAFE_INTEGER] = readCursor(cursor, 1)
        const conditions = [sql`id < ${before}`, ...conditionsOf(filter)]
        const found = yield* rows<HealthRow>(sql`
          SELECT * FROM gleaner.health WHERE ${joined(conditions, ' AND ')} ORDER BY id DESC LIMIT ${limit + 1}`)
        return healthPage(found, limit)
      }),
    components: () =>
      read(function* () {
        const now = yield* db.time()
        const found = yield* rows<ComponentRow>(
          sql`SELECT * FROM gleaner.components ORDER BY id LIMIT ${COMPONENTS_LISTED_MAX}`,
        )
        return found.map((row) => componentAt(reportedComponent(row), now))
      }),
    forgetComponents: (ids) =>
      writeCheaply(function* () {
        for (const id of ids.toSorted()) yield* change(sql`DELETE FROM gleaner.components WHERE id = ${id}`)
      }),
  }
}

function* append(notes: readonly NewHealthNote[], now: number): Script<void> {
  for (const { component, status, changedFrom, item, agoMs } of notes) {
    yield* change(sql`
      INSERT INTO gleaner.health (at, component, status, changed_from, item)
      VALUES (${now - agoMs}, ${component}, ${status}, ${changedFrom}, ${item})`)
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
}

/** By their ids, so that two monitors that report the same components do not wait for each other. */
function* reportComponents(notes: readonly NewHealthNote[], freshMs: number, now: number): Script<void> {
  const latest = new Map(notes.map((note) => [note.component, note]))
  for (const [id, { status, item, agoMs }] of [...latest].toSorted(([a], [b]) => (a < b ? -1 : 1))) {
    const at = now - agoMs
    yield* change(sql`
      INSERT INTO gleaner.components AS known (id, status, since, item, seen_at, fresh_ms)
      VALUES (${id}, ${status}, ${at}, ${item}, ${at}, ${freshMs})
      ON CONFLICT (id) DO UPDATE SET
        since = CASE WHEN known.status = excluded.status THEN known.since ELSE excluded.since END,
        status = excluded.status, item = excluded.item, seen_at = excluded.seen_at, fresh_ms = excluded.fresh_ms`)
  }
  yield* change(sql`
    DELETE FROM gleaner.components WHERE id IN (
      SELECT id FROM gleaner.components WHERE seen_at < ${now - LOST_KEPT_MS} ORDER BY id)`)
}

function conditionsOf({ component, changes, since, until }: HealthFilter) {
  return [
    ...(component === undefined ? [] : [sql`component = ${component}`]),
    ...(changes === true ? [sql`changed_from IS NOT NULL`] : []),
    ...(since === undefined ? [] : [sql`at >= ${since}`]),
    ...(until === undefined ? [] : [sql`at < ${until}`]),
  ]
}
