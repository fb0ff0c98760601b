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
import type { Memory } from '../memory.ts'
import type { Sql } from '../server/sql.ts'
import { insertTasks } from '../tasks/enqueue.ts'

type TimedRow = ScheduleRow & { now: number }

/** A schedule's row, and the time: `$1` is the test's clock, or null for the server's. */
const TIMED = 'SELECT *, coalesce($1::bigint, gleaner.now_ms()) AS now FROM gleaner.schedules'

/** Those that the database does not know, or knows with other times. */
export async function changedSchedules(
  sql: Sql,
  schedules: readonly NamedSchedule[],
): Promise<NamedSchedule[]> {
  const rows = await sql.rows<ScheduleRow>('SELECT * FROM gleaner.schedules')
  const known = new Map(rows.map((row) => [row.name, row]))
  return schedules.filter(({ name, every, timezone }) => {
    const row = known.get(name)
    return row?.every !== every || row.timezone !== timezone
  })
}

/** In the order of their names, so that nobody waits for somebody who waits for him. */
export async function planSchedules(
  sql: Sql,
  changed: readonly NamedSchedule[],
  clockMs: number | null,
): Promise<void> {
  const { now } = (await sql.row<{ now: number }>('SELECT coalesce($1::bigint, gleaner.now_ms()) AS now', [
    clockMs,
  ]))!
  for (const schedule of inOrder(changed)) {
    // Another process of the same code may have planned it just before, and fired it since.
    await sql.run(
      `INSERT INTO gleaner.schedules AS s (name, every, timezone, next_at) VALUES ($1, $2, $3, $4)
       ON CONFLICT (name) DO UPDATE
       SET every = excluded.every, timezone = excluded.timezone, next_at = excluded.next_at
       WHERE (s.every, s.timezone) IS DISTINCT FROM (excluded.every, excluded.timezone)`,
      [schedule.name, schedule.every, schedule.timezone, nextOccurrence(schedule, now)],
    )
  }
}

function inOrder<Named extends { name: string }>(all: readonly Named[]): Named[] {
  return [...all].sort((a, b) => (a.name < b.name ? -1 : 1))
}

/** What this process could enqueue, and is not paused. */
async function plannedAmong(
  sql: Sql,
  tasks: readonly NewTask[],
  clockMs: number | null,
): Promise<TimedRow[]> {
  return sql.rows<TimedRow>(`${TIMED} WHERE NOT paused AND name = ANY($2)`, [
    clockMs,
    tasks.map(({ name }) => name),
  ])
}

/** A look without a lock: almost always nothing is due, or has to be planned anew. */
export async function dueSchedules(
  sql: Sql,
  tasks: readonly NewTask[],
  clockMs: number | null,
): Promise<{ due: TimedRow[]; nextInMs: number | null }> {
  const rows = await plannedAmong(sql, tasks, clockMs)
  const due = rows.filter((row) => isDue(row, row.now) || rowPlannedAnew(row, row.now) !== null)
  return { due, nextInMs: nextInMs(rows, rows[0]?.now ?? 0) }
}

/** Those that were seen to be due, unless somebody else has enqueued, paused or planned them since. */
export async function fireSchedules(
  sql: Sql,
  memory: Memory,
  due: readonly TimedRow[],
  tasks: readonly NewTask[],
  clockMs: number | null,
): Promise<Firing> {
  const fired: Firing['fired'] = []
  // In the order of their names, so that nobody waits for somebody who waits for him.
  for (const row of inOrder(due)) {
    const taken = (await moveOn(sql, row)) && isDue(row, row.now)
    if (!taken || (await isUnderWay(sql, row.name))) continue
    const given = tasks.find(({ name }) => name === row.name)!
    const task = await enqueueFor(sql, memory, given, row.next_at, clockMs)
    fired.push({ name: row.name, at: row.next_at, task })
  }
  const rows = await plannedAmong(sql, tasks, clockMs)
  return { fired, nextInMs: nextInMs(rows, rows[0]?.now ?? 0) }
}

/** The compare-and-set: the process that moves the schedule on has the occurrence to itself. */
async function moveOn(sql: Sql, row: TimedRow): Promise<boolean> {
  const next = rowPlannedAnew(row, row.now) ?? occurrenceAfter(row, row.next_at, row.now)
  const changes = await sql.run(
    `UPDATE gleaner.schedules SET next_at = $1
     WHERE name = $2 AND next_at = $3 AND NOT paused AND every = $4 AND timezone IS NOT DISTINCT FROM $5`,
    [next, row.name, row.next_at, row.every, row.timezone],
  )
  return changes === 1
}

async function isUnderWay(sql: Sql, name: string): Promise<boolean> {
  const row = await sql.row<{ status: TaskStatus }>(
    `SELECT status FROM gleaner.tasks WHERE id = (SELECT last_task FROM gleaner.schedules WHERE name = $1)`,
    [name],
  )
  return overlaps(row?.status ?? null)
}

async function enqueueFor(
  sql: Sql,
  memory: Memory,
  task: NewTask,
  at: number,
  clockMs: number | null,
): Promise<string> {
  const [answer] = await insertTasks(sql, memory, [task], clockMs, null)
  await sql.run('UPDATE gleaner.schedules SET last_at = $1, last_task = $2 WHERE name = $3', [
    at,
    answer!.id,
    task.name,
  ])
  return answer!.id
}

export async function triggerSchedule(
  sql: Sql,
  memory: Memory,
  task: NewTask,
  clockMs: number | null,
): Promise<Enqueued | null> {
  const row = await lockedRow(sql, task.name, clockMs)
  if (row === undefined) return null
  if (await isUnderWay(sql, task.name)) return { id: String(row.last_task), created: false }
  return { id: await enqueueFor(sql, memory, task, row.now, clockMs), created: true }
}

export async function listSchedules(sql: Sql): Promise<ScheduleRecord[]> {
  return inOrder((await sql.rows<ScheduleRow>('SELECT * FROM gleaner.schedules')).map(scheduleRecord))
}

/** Resumed, it goes on with what comes next, not with what was due meanwhile. */
export async function setSchedulePaused(
  sql: Sql,
  name: string,
  paused: boolean,
  clockMs: number | null,
): Promise<boolean> {
  const row = await lockedRow(sql, name, clockMs)
  if (row === undefined) return false
  if (row.paused === paused) return true
  await sql.run('UPDATE gleaner.schedules SET paused = $1, next_at = $2 WHERE name = $3', [
    paused,
    paused ? row.next_at : nextOccurrence(row, row.now),
    name,
  ])
  return true
}

/** Locked until the end of the transaction. */
async function lockedRow(sql: Sql, name: string, clockMs: number | null): Promise<TimedRow | undefined> {
  return sql.row<TimedRow>(`${TIMED} WHERE name = $2 FOR UPDATE`, [clockMs, name])
}
