import {
  type Firing,
  type NamedSchedule,
  nextOccurrence,
  occurrenceAfter,
  overlaps,
  type ScheduleRecord,
} from '../../../model/schedule.ts'
import type { TaskStatus } from '../../../model/task.ts'
import type { Enqueued, NewTask } from '../../contract.ts'
import { isDue, nextInMs, rowPlannedAnew, type ScheduleRow, scheduleRecord } from '../../schedule-row.ts'
import type { Statements } from '../file/statements.ts'
import { type Intended, insertTasks } from '../tasks/enqueue.ts'

/** Those that the database does not know, or knows with other times. */
export function changedSchedules(db: Statements, schedules: readonly NamedSchedule[]): NamedSchedule[] {
  return schedules.filter(({ name, every, timezone }) => {
    const row = rowOf(db, name)
    return row?.every !== every || row.timezone !== timezone
  })
}

/** False when there was nothing to do. */
export function planSchedules(db: Statements, schedules: readonly NamedSchedule[], now: number): boolean {
  const changed = changedSchedules(db, schedules)
  for (const schedule of changed) {
    db.sql(`INSERT INTO gleaner_schedules (name, every, timezone, next_at) VALUES (?, ?, ?, ?)
            ON CONFLICT (name) DO UPDATE
            SET every = excluded.every, timezone = excluded.timezone, next_at = excluded.next_at`).run(
      schedule.name,
      schedule.every,
      schedule.timezone,
      nextOccurrence(schedule, now),
    )
  }
  return changed.length > 0
}

/** What this process could enqueue, and is not paused. */
function plannedAmong(db: Statements, tasks: readonly NewTask[]): ScheduleRow[] {
  return db
    .sql(`SELECT * FROM gleaner_schedules
          WHERE paused = 0 AND name IN (SELECT value FROM json_each(?)) ORDER BY name`)
    .all(JSON.stringify(tasks.map(({ name }) => name))) as ScheduleRow[]
}

/** A look without a lock: almost always nothing is due, or has to be planned anew. */
export function dueSchedules(
  db: Statements,
  tasks: readonly NewTask[],
  now: number,
): { due: ScheduleRow[]; nextInMs: number | null } {
  const rows = plannedAmong(db, tasks)
  const due = rows.filter((row) => isDue(row, now) || rowPlannedAnew(row, now) !== null)
  return { due, nextInMs: nextInMs(rows, now) }
}

/** Those that were seen to be due, unless somebody else has enqueued, paused or planned them since. */
export function fireSchedules(
  db: Statements,
  due: readonly ScheduleRow[],
  tasks: readonly NewTask[],
  now: number,
  intended: Intended,
): Firing {
  const fired: Firing['fired'] = []
  for (const row of due) {
    const taken = moveOn(db, row, now) && isDue(row, now)
    if (!taken || isUnderWay(db, row.name)) continue
    const task = enqueueFor(db, tasks.find(({ name }) => name === row.name)!, row.next_at, now, intended)
    fired.push({ name: row.name, at: row.next_at, task })
  }
  return { fired, nextInMs: nextInMs(plannedAmong(db, tasks), now) }
}

/** The compare-and-set: the process that moves the schedule on has the occurrence to itself. */
function moveOn(db: Statements, row: ScheduleRow, now: number): boolean {
  const next = rowPlannedAnew(row, now) ?? occurrenceAfter(row, row.next_at, now)
  const { changes } = db
    .sql(`UPDATE gleaner_schedules SET next_at = ?
          WHERE name = ? AND next_at = ? AND paused = 0 AND every = ? AND timezone IS ?`)
    .run(next, row.name, row.next_at, row.every, row.timezone)
  return changes === 1
}

function isUnderWay(db: Statements, name: string): boolean {
  const status = db
    .scalar(`SELECT status FROM gleaner_tasks
             WHERE id = (SELECT last_task FROM gleaner_schedules WHERE name = ?)`)
    .get(name) as TaskStatus | undefined
  return overlaps(status ?? null)
}

function enqueueFor(db: Statements, task: NewTask, at: number, now: number, intended: Intended): string {
  const [answer] = insertTasks(db, [task], now, intended)
  db.sql('UPDATE gleaner_schedules SET last_at = ?, last_task = ? WHERE name = ?').run(
    at,
    Number(answer!.id),
    task.name,
  )
  return answer!.id
}

export function triggerSchedule(
  db: Statements,
  task: NewTask,
  now: number,
  intended: Intended,
): Enqueued | null {
  const row = rowOf(db, task.name)
  if (row === undefined) return null
  if (isUnderWay(db, task.name)) return { id: String(row.last_task), created: false }
  return { id: enqueueFor(db, task, now, now, intended), created: true }
}

export function listSchedules(db: Statements): ScheduleRecord[] {
  const rows = db.sql('SELECT * FROM gleaner_schedules ORDER BY name').all() as ScheduleRow[]
  return rows.map(scheduleRecord)
}

/** Resumed, it goes on with what comes next, not with what was due meanwhile. */
export function setSchedulePaused(db: Statements, name: string, paused: boolean, now: number): boolean {
  const row = rowOf(db, name)
  if (row === undefined) return false
  if (Boolean(row.paused) === paused) return true
  db.sql('UPDATE gleaner_schedules SET paused = ?, next_at = ? WHERE name = ?').run(
    paused ? 1 : 0,
    paused ? row.next_at : nextOccurrence(row, now),
    name,
  )
  return true
}

function rowOf(db: Statements, name: string): ScheduleRow | undefined {
  return db.sql('SELECT * FROM gleaner_schedules WHERE name = ?').get(name) as ScheduleRow | undefined
}
