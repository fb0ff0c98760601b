import type { AttemptRecord, TaskRecord } from '../../model/task.ts'
import type { Lane } from '../lane.ts'
import type { LaneFilter, TaskResult } from '../ports/tasks.ts'
import type { Queue } from '../queue-row.ts'
import type { Dialect } from '../sql/dialect.ts'
import { one, rows, type Script } from '../sql/script.ts'
import { sql } from '../sql/sql.ts'
import {
  type AttemptRow,
  attemptRecord,
  lastAttempt,
  resultOf,
  rowid,
  type TaskRow,
  taskRecord,
} from '../task-row.ts'

/** A task's row `t`, without its input and its result. */
export const TASK = sql`t.id, t.lane, t.status, t.priority, t.rank, t.attempts, t.max_attempts, t.crashes, t.error, t.progress,
  t.progress_message, t.key, t.session, t.created_at, t.run_after, t.started_at, t.finished_at`

/** The worker that holds a task `t`, or held it last. */
export const WORKER = sql`(SELECT s.worker FROM gleaner.sessions AS s WHERE s.id = t.session) AS worker`

/** A task's row with everything that decides about it. */
export interface WholeTaskRow extends TaskRow {
  worker: string | null
  fence: number | null
  suspect: number | boolean
  cancel_requested: number | boolean
}

export function readTaskRow({ schema }: Dialect, id: number): Script<WholeTaskRow | undefined> {
  return one<WholeTaskRow>(sql`
    SELECT ${TASK}, ${schema.input} AS input, t.result, t.fence, t.suspect, t.cancel_requested, ${WORKER}
    FROM gleaner.tasks AS t WHERE t.id = ${id}`)
}

/** What a store remembers of its lanes and queues, for scripts. */
export interface Known {
  lanesMatching(filter: LaneFilter): Script<readonly Lane[]>
  lane(id: number): Script<Lane>
  /** The settings of queues as they are now. */
  queues(): Script<{ of(name: string): Queue }>
}

export function* readTask(db: Dialect, known: Known, id: number): Script<TaskRecord | null> {
  const row = yield* readTaskRow(db, id)
  if (row === undefined) return null
  return taskRecord(row, yield* known.lane(row.lane), row.worker, yield* db.time())
}

/** Every attempt: those that are kept, and the last one as the task's own row has it. */
export function* readAttempts(id: number): Script<AttemptRecord[]> {
  const kept = yield* rows<AttemptRow>(sql`
    SELECT a.*, s.worker FROM gleaner.attempts AS a LEFT JOIN gleaner.sessions AS s ON s.id = a.session
    WHERE a.task = ${id} ORDER BY a.id`)
  const task = yield* one<TaskRow & { worker: string | null }>(sql`
    SELECT t.*, s.worker FROM gleaner.tasks AS t LEFT JOIN gleaner.sessions AS s ON s.id = t.session WHERE t.id = ${id}`)
  return [...kept.map(attemptRecord), ...lastAttempt(task, task?.worker ?? null)]
}

type EndingRow = Pick<TaskRow, 'id' | 'status' | 'result' | 'error' | 'finished_at'>

export function* readResults(db: Dialect, ids: readonly string[]): Script<Map<string, TaskResult>> {
  const found = yield* rows<EndingRow>(sql`
    SELECT id, status, result, error, finished_at FROM gleaner.tasks WHERE id ${db.oneOf(ids.map(rowid))}`)
  const byId = new Map(found.map((row) => [row.id, row]))
  const endings = new Map<string, TaskResult>()
  for (const id of ids) {
    const ending = resultOf(byId.get(rowid(id)))
    if (ending !== null) endings.set(id, ending)
  }
  return endings
}
