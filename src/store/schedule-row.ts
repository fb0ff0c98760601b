import { type NamedSchedule, plannedAnew, type ScheduleRecord } from '../model/schedule.ts'

/** The row of what recurs, in either store. */
export interface ScheduleRow extends NamedSchedule {
  next_at: number
  last_at: number | null
  last_task: number | null
  paused: number | boolean
}

export function scheduleRecord(row: ScheduleRow): ScheduleRecord {
  const paused = Boolean(row.paused)
  return {
    name: row.name,
    every: row.every,
    timezone: row.timezone,
    nextAt: paused ? null : row.next_at,
    lastAt: row.last_at,
    lastTask: row.last_task === null ? null : String(row.last_task),
    paused,
  }
}

/** Null: the next time that the row says stands. */
export function rowPlannedAnew(row: ScheduleRow, now: number): number | null {
  return plannedAnew(row, { nextAt: row.next_at, lastAt: row.last_at }, now)
}

export function isDue(row: ScheduleRow, now: number): boolean {
  return row.next_at <= now
}

/** Null when there are none. */
export function nextInMs(rows: readonly ScheduleRow[], now: number): number | null {
  return rows.length === 0 ? null : Math.max(0, Math.min(...rows.map((row) => row.next_at)) - now)
}
