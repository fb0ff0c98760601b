import type { TaskRecord } from '../../../model/task.ts'
import { type TaskRow, taskRecord } from '../../task-row.ts'
import type { Sql } from '../server/sql.ts'
import type { LaneBook } from './lanes.ts'

/** With the name of the worker that holds or held it. */
export type FullRow = TaskRow & { worker: string | null }

export const WORKER = '(SELECT worker FROM gleaner.sessions s WHERE s.id = t.session) AS worker'

export const FULL = `t.*, ${WORKER}`

/** Ids are opaque strings to everybody else; what is none of ours names no task. */
export function rowid(id: string): string {
  return /^[1-9]\d{0,14}$/.test(id) ? id : '0'
}

export async function recordOf(lanes: LaneBook, row: FullRow, now: number): Promise<TaskRecord> {
  return taskRecord(row, await lanes.get(row.lane), row.worker, now)
}

export async function readTask(
  sql: Sql,
  lanes: LaneBook,
  id: string,
  clockMs: number | null,
): Promise<TaskRecord | null> {
  const row = await sql.row<FullRow & { now: number }>(
    `SELECT ${FULL}, gleaner.now_ms() AS now FROM gleaner.tasks t WHERE id = $1`,
    [rowid(id)],
  )
  return row === undefined ? null : recordOf(lanes, row, clockMs ?? row.now)
}
