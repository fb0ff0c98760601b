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

/** Every attempt: those that were remembered, and the last one as the task's own row tells it. */
export async function readAttempts(sql: Sql, id: string): Promise<AttemptRecord[]> {
  const remembered = await sql.rows<AttemptRow>(
    `SELECT a.*, (SELECT worker FROM gleaner.sessions s WHERE s.id = a.session) AS worker
     FROM gleaner.attempts a WHERE task = $1 ORDER BY a.id`,
    [rowid(id)],
  )
  const row = await sql.row<FullRow>(`SELECT ${FULL} FROM gleaner.tasks t WHERE id = $1`, [rowid(id)])
  return [...remembered.map(attemptRecord), ...lastAttempt(row, row?.worker ?? null)]
}

export async function readEndings(sql: Sql, ids: readonly string[]): Promise<Map<string, Ending>> {
  const rows = await sql.rows<Pick<TaskRow, 'status' | 'result' | 'error' | 'finished_at'> & { id: string }>(
    'SELECT id::text AS id, status, result, error, finished_at FROM gleaner.tasks WHERE id = ANY($1::bigint[])',
    [ids.map(rowid)],
  )
  const byId = new Map(rows.map((row) => [row.id, row]))
  const endings = new Map<string, Ending>()
  for (const id of ids) {
    const ending = endingOf(byId.get(id))
    if (ending !== null) endings.set(id, ending)
  }
  return endings
}
