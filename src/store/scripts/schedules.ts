import {
  type Firing,
  type NamedSchedule,
  nextOccurrence,
  occurrenceAfter,
  overlaps,
  type ScheduleRecord,
} from '../../model/schedule.ts'
import type { TaskStatus } from '../../model/task.ts'
import type { Enqueued, NewTask } from '../ports/new-task.ts'
import type { Schedules } from '../ports/schedules.ts'
import { isDue, nextInMs, rowPlannedAnew, type ScheduleRow, scheduleRecord } from '../schedule-row.ts'
import type { Dialect } from '../sql/dialect.ts'
import { change, one, rows, type Script } from '../sql/script.ts'
import type { Scripts } from '../sql/scripts.ts'
import { sql } from '../sql/sql.ts'

/** How a store enqueues, for scripts. */
export interface Enqueuing {
  /** Before the transaction. */
  prepare(tasks: readonly NewTask[]): Promise<void>
  /** In the transaction of the script. */
  insert(task: NewTask): Script<Enqueued>
}

/** The verbs for recurring tasks. */
export function recurring({ db, read, write, tell }: Scripts, enqueuing: Enqueuing): Schedules {
  return {
    async planSchedules(schedules) {
      // Reads before it locks: almost every open finds nothing to do.
      const changed = await read(() => changedSchedules(schedules))
      if (changed.length === 0) return
      await write(() => planSchedules(db, changed))
      tell({ kind: 'schedules' })
    },
    async fireSchedules(tasks) {
      const { due, nextInMs } = await read(() => dueSchedules(db, tasks))
      if (due.length === 0) return { fired: [], nextInMs }
      await enqueuing.prepare(tasks)
      const firing = await write(() => fireSchedules(db, { due, tasks }, enqueuing))
      if (firing.fired.length > 0) tell({ kind: 'work' })
      return firing
    },
    async triggerSchedule(task) {
      await enqueuing.prepare([task])
      const answer = await write(() => triggerSchedule(db, task, enqueuing))
      if (answer?.created) tell({ kind: 'work' })
      return answer
    },
    listSchedules: () => read(listSchedules),
    async setSchedulePaused(name, paused) {
      const found = await write(() => setSchedulePaused(db, name, paused))
      if (!paused) tell({ kind: 'schedules' })
      return found
    },
  }
}

/** Those that the database does not know, or knows with other times. */
export function* changedSchedules(schedules: readonly NamedSchedule[]): Script<NamedSchedule[]> {
  const found = yield* rows<ScheduleRow>(sql`SELECT * FROM gleaner.schedules`)
  const known = new Map(found.map((row) => [row.name, row]))
  return schedules.filter(({ name, every, timezone }) => {
    const row = known.get(name)
    return row?.every !== every || row.timezone !== timezone
  })
}

export function* planSchedules(db: Dialect, changed: readonly NamedSchedule[]): Script<void> {
  const now = yield* db.time()
  for (const schedule of byName(changed)) {
    // Another process of the same code may have planned the schedule just before, and fired it since.
    yield* change(sql`
      INSERT INTO gleaner.schedules AS s (name, every, timezone, next_at)
      VALUES (${schedule.name}, ${schedule.every}, ${schedule.timezone}, ${nextOccurrence(schedule, now)})
      ON CONFLICT (name) DO UPDATE
      SET every = excluded.every, timezone = excluded.timezone, next_at = excluded.next_at
      WHERE s.every <> excluded.every OR s.timezone IS DISTINCT FROM excluded.timezone`)
  }
}

/** All processes lock schedules in this order, so that no two wait for each other. */
function byName<Named extends { name: string }>(all: readonly Named[]): Named[] {
  return [...all].sort((a, b) => (a.name < b.name ? -1 : 1))
}

/** Schedules that this process can enqueue for, and that are not paused. */
function activeAmong(db: Dialect, tasks: readonly NewTask[]): Script<ScheduleRow[]> {
  const names = tasks.map(({ name }) => name)
  return rows<ScheduleRow>(sql`SELECT * FROM gleaner.schedules WHERE NOT paused AND name ${db.oneOf(names)}`)
}

/** Reads without a lock: almost always nothing is due, or has to be planned anew. */
export function* dueSchedules(
  db: Dialect,
  tasks: readonly NewTask[],
): Script<{ due: ScheduleRow[]; nextInMs: number | null }> {
  const now = yield* db.time()
  const active = yield* activeAmong(db, tasks)
  const due = active.filter((row) => isDue(row, now) || rowPlannedAnew(row, now) !== null)
  return { due, nextInMs: nextInMs(active, now) }
}

/** Enqueues for those that were seen to be due, unless another process has enqueued, paused or planned them since. */
export function* fireSchedules(
  db: Dialect,
  { due, tasks }: { due: readonly ScheduleRow[]; tasks: readonly NewTask[] },
  enqueuing: Pick<Enqueuing, 'insert'>,
): Script<Firing> {
  const now = yield* db.time()
  const fired: Firing['fired'] = []
  for (const row of byName(due)) {
    const taken = (yield* moveOn(row, now)) && isDue(row, now)
    if (!taken || (yield* isUnderWay(row.name))) continue
    const task = yield* enqueueFor(tasks.find(({ name }) => name === row.name)!, row.next_at, enqueuing)
    fired.push({ name: row.name, at: row.next_at, task })
  }
  return { fired, nextInMs: nextInMs(yield* activeAmong(db, tasks), now) }
}

/** The compare-and-set: the process that moves the schedule on has the occurrence to itself. */
function* moveOn(row: ScheduleRow, now: number): Script<boolean> {
  const next = rowPlannedAnew(row, now) ?? occurrenceAfter(row, row.next_at, now)
  const changes = yield* change(sql`
    UPDATE gleaner.schedules SET next_at = ${next}
    WHERE name = ${row.name} AND next_at = ${row.next_at} AND NOT paused
      AND every = ${row.every} AND timezone IS NOT DISTINCT FROM ${row.timezone}`)
  return changes === 1
}

function* isUnderWay(name: string): Script<boolean> {
  const last = yield* one<{ status: TaskStatus }>(sql`
    SELECT status FROM gleaner.tasks WHERE id = (SELECT last_task FROM gleaner.schedules WHERE name = ${name})`)
  return overlaps(last?.status ?? null)
}

function* enqueueFor(task: NewTask, at: number, { insert }: Pick<Enqueuing, 'insert'>): Script<string> {
  const { id } = yield* insert(task)
  yield* change(
    sql`UPDATE gleaner.schedules SET last_at = ${at}, last_task = ${Number(id)} WHERE name = ${task.name}`,
  )
  return id
}

function* triggerSchedule(db: Dialect, task: NewTask, enqueuing: Enqueuing): Script<Enqueued | null> {
  const row = yield* lockedRow(db, task.name)
  if (row === undefined) return null
  if (yield* isUnderWay(task.name)) return { id: String(row.last_task), created: false }
  return { id: yield* enqueueFor(task, yield* db.time(), enqueuing), created: true }
}

function* listSchedules(): Script<ScheduleRecord[]> {
  return byName((yield* rows<ScheduleRow>(sql`SELECT * FROM gleaner.schedules`)).map(scheduleRecord))
}

/** A resumed schedule continues with its next time, not with what was due during the pause. */
function* setSchedulePaused(db: Dialect, name: string, paused: boolean): Script<boolean> {
  const row = yield* lockedRow(db, name)
  if (row === undefined) return false
  if (Boolean(row.paused) === paused) return true
  const next = paused ? row.next_at : nextOccurrence(row, yield* db.time())
  yield* change(sql`UPDATE gleaner.schedules SET paused = ${paused}, next_at = ${next} WHERE name = ${name}`)
  return true
}

function lockedRow(db: Dialect, name: string): Script<ScheduleRow | undefined> {
  return one<ScheduleRow>(sql`SELECT * FROM gleaner.schedules WHERE name = ${name} ${db.forUpdate}`)
}
