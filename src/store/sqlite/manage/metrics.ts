import { type Measured, minuteOf, type Present, type Readings } from '../../../model/metrics.ts'
import type { Lane } from '../../lane.ts'
import {
  ALL_TIME,
  addedUp,
  MINUTES_KEPT_MS,
  type MinuteRow,
  measuredIn,
  PRUNED_MAX,
} from '../../metrics-row.ts'
import type { Statements } from '../file/statements.ts'
import { countByLane } from '../order/queues.ts'
import { noteUnfinished } from './levels.ts'

/** Inside a write transaction. */
export function addMetrics(db: Statements, measured: readonly Measured[], now: number): void {
  const minute = minuteOf(now)
  for (const one of measured) for (const at of [minute, ALL_TIME]) addTo(db, one, at)
  noteUnfinished(db, now)
  db.sql(`DELETE FROM gleaner_minutes WHERE (minute, queue, name) IN (
            SELECT minute, queue, name FROM gleaner_minutes WHERE minute > ? AND minute < ?
            ORDER BY minute LIMIT ${PRUNED_MAX})`).run(ALL_TIME, minute - MINUTES_KEPT_MS)
}

export function readTotals(db: Statements): Measured[] {
  const rows = db.sql('SELECT * FROM gleaner_minutes WHERE minute = ?').all(ALL_TIME) as MinuteRow[]
  return rows.map(measuredIn)
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

export function readMetrics(db: Statements, lanes: readonly Lane[], since: number, now: number): Readings {
  const minutes = db.sql('SELECT * FROM gleaner_minutes WHERE minute >= ?').all(since) as MinuteRow[]
  return { now, present: presentIn(db, lanes, now), minutes: minutes.map(measuredIn) }
}

function presentIn(db: Statements, lanes: readonly Lane[], now: number): Present[] {
  const counts = countByLane(db, now)
  const oldest = new Map(
    (
      db.sql('SELECT lane, waiting_since FROM gleaner_lane_oldest').all() as {
        lane: number
        waiting_since: number
      }[]
    ).map((row) => [row.lane, row.waiting_since]),
  )
  return lanes.map(({ id, queue, name }) => {
    const { scheduled, queued, running } = counts.get(id)!
    return { queue, name, scheduled, queued, running, waitingSince: oldest.get(id) ?? null }
  })
}
