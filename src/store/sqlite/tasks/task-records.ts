import type { AttemptRecord, TaskRecord } from '../../../model/task.ts'
import type { Ending } from '../../contract.ts'
import {
  type AttemptRow,
  attemptRecord,
  endingOf,
  lastAttempt,
  type TaskRow,
  taskRecord,
} from '../../task-row.ts'
import type { Statements } from '../file/statements.ts'
import { inputOf } from './claim.ts'
import type { LaneCache } from './lanes.ts'

/** Ids are opaque strings to everybody else; what is none of ours names no task. */
export function rowid(id: string): number {
  return /^[1-9]\d{0,14}$/.test(id) ? Number(id) : 0
}

/** All there is of it. */
type WholeRow = TaskRow & { fence: number | null; suspect: number; cancel_requested: number }

export function rowOf(db: Statements, id: string): WholeRow | undefined {
  return db.sql('SELECT * FROM gleaner_tasks WHERE id = ?').get(rowid(id)) as WholeRow | undefined
}

export function readTask(db: Statements, lanes: LaneCache, id: string, now: number): TaskRecord | null {
  const row = rowOf(db, id)
  return row === undefined ? null : recordOf(db, lanes, row, now)
}

export function recordOf(db: Statements, lanes: LaneCache, row: TaskRow, now: number): TaskRecord {
  const whole = { ...row, input: inputOf(db, row.id, row.input) }
  return taskRecord(whole, lanes.get(row.lane), workerOf(db, row.session), now)
}

function workerOf(db: Statements, session: number | null): string | null {
  const worker = db.scalar('SELECT worker FROM gleaner_sessions WHERE id = ?').get(session)
  return (worker as string | undefined) ?? null
}

/** Every attempt: those that were remembered, and the last one as the task's own row tells it. */
export function readAttempts(db: Statements, id: string): AttemptRecord[] {
  const remembered = db
    .sql(`SELECT a.*, s.worker FROM gleaner_attempts a LEFT JOIN gleaner_sessions s ON s.id = a.session
          WHERE a.task = ? ORDER BY a.id`)
    .all(rowid(id)) as AttemptRow[]
  const row = rowOf(db, id)
  return [...remembered.map(attemptRecord), ...lastAttempt(row, workerOf(db, row?.session ?? null))]
}

export function readEndings(db: Statements, ids: readonly string[]): Map<string, Ending> {
  const endings = new Map<string, Ending>()
  for (const id of ids) {
    const row = db
      .sql('SELECT status, result, error, finished_at FROM gleaner_tasks WHERE id = ?')
      .get(rowid(id)) as Parameters<typeof endingOf>[0] | undefined
    const ending = endingOf(row)
    if (ending !== null) endings.set(id, ending)
  }
  return endings
}
