import { type Measured, minuteOf } from '../../../model/metrics.ts'
import { ALL_TIME, addedUp, MINUTES_KEPT_MS, type MinuteRow, PRUNED_MAX } from '../../metrics-row.ts'
import { noteUnfinished } from '../../scripts/levels.ts'
import type { Dialect } from '../../sql/dialect.ts'
import { driveOn } from '../file/scripts.ts'
import type { Statements } from '../file/statements.ts'

/** Inside a write transaction. */
export function addMetrics(
  db: Statements,
  dialect: Dialect,
  measured: readonly Measured[],
  now: number,
): void {
  const minute = minuteOf(now)
  for (const one of measured) for (const at of [minute, ALL_TIME]) addTo(db, one, at)
  for (const script of noteUnfinished(dialect)) driveOn(db, script)
  db.sql(`DELETE FROM gleaner_minutes WHERE (minute, queue, name) IN (
            SELECT minute, queue, name FROM gleaner_minutes WHERE minute > ? AND minute < ?
            ORDER BY minute LIMIT ${PRUNED_MAX})`).run(ALL_TIME, minute - MINUTES_KEPT_MS)
}

function addTo(db: Statements, one: Measured, minute: number): void {
  const before = db
    .sql('SELECT * FROM gleaner_minutes WHERE minute = ? AND queue = ? AND name = ?')
    .get(minute, one.queue, one.name) as MinuteRow | undefined
  const { enqueued, completed, failed, retried, durations, incidents } = addedUp(before, one, minute)
  db.sql(`INSERT OR REPLACE INTO gleaner_minutes (minute, queue, name, enqueued, completed, failed, retried, durations, incidents)
            VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)`).run(
    minute,
    one.queue,
    one.name,
    enqueued,
    completed,
    failed,
    retried,
    durations,
    incidents,
  )
}
