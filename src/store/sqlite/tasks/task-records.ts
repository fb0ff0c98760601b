import type { TaskRecord } from '../../../model/task.ts'
import { type TaskRow, taskRecord } from '../../task-row.ts'
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

export function recordOf(db: Statements, lanes: LaneCache, row: TaskRow, now: number): TaskRecord {
  const whole = { ...row, input: inputOf(db, row.id, row.input) }
  return taskRecord(whole, lanes.get(row.lane), workerOf(db, row.session), now)
}

function workerOf(db: Statements, session: number | null): string | null {
  const worker = db.scalar('SELECT worker FROM gleaner_sessions WHERE id = ?').get(session)
  return (worker as string | undefined) ?? null
}
