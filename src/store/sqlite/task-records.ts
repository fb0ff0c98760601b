import type {
  AttemptOutcome,
  AttemptRecord,
  FinishedStatus,
  Page,
  TaskRecord,
  TaskStatus,
} from '../../model/task.ts'
import type { Ending } from '../contract.ts'
import { inputOf, userKey } from './claim.ts'
import type { LaneCache } from './lanes.ts'
import type { Statements } from './statements.ts'

export interface TaskRow {
  id: number
  lane: number
  status: TaskStatus
  priority: number
  rank: number | null
  attempts: number
  max_attempts: number
  crashes: number
  input: string | null
  result: string | null
  error: string | null
  progress: number | null
  progress_message: string | null
  key: string | null
  session: number | null
  created_at: number
  run_after: number | null
  started_at: number | null
  finished_at: number | null
}

/** Ids are opaque strings to everybody else; what is none of ours names no task. */
export function rowid(id: string): number {
  return /^[1-9]\d{0,14}$/.test(id) ? Number(id) : 0
}

export function readTask(db: Statements, lanes: LaneCache, id: string, now: number): TaskRecord | null {
  const row = db.sql('SELECT * FROM gleaner_tasks WHERE id = ?').get(rowid(id)) as TaskRow | undefined
  return row === undefined ? null : taskRecord(db, lanes, row, now)
}

export function taskRecord(db: Statements, lanes: LaneCache, row: TaskRow, now: number): TaskRecord {
  const lane = lanes.get(row.lane)
  // Due counts as queued, even before anybody moved it.
  const due = row.status === 'scheduled' && (row.run_after ?? 0) <= now
  return {
    id: String(row.id),
    name: lane.name,
    queue: lane.queue,
    status: due ? 'queued' : row.status,
    priority: row.priority,
    attempts: row.attempts,
    maxAttempts: row.max_attempts,
    crashes: row.crashes,
    input: json(inputOf(db, row.id, row.input)),
    result: json(row.result),
    error: json(row.error) as TaskRecord['error'],
    progress: row.progress === null ? null : { fraction: row.progress, message: row.progress_message },
    key: userKey(lane.name, row.key),
    requires: lane.requires,
    worker: row.session === null ? null : workerOf(db, row.session),
    createdAt: row.created_at,
    runAfter: row.run_after,
    startedAt: row.started_at,
    finishedAt: row.finished_at,
  }
}

function workerOf(db: Statements, session: number): string | null {
  const worker = db.scalar('SELECT worker FROM gleaner_sessions WHERE id = ?').get(session)
  return (worker as string | undefined) ?? null
}

function json(text: string | null): unknown {
  return text === null ? null : JSON.parse(text)
}

/** A page of rows, of which one more was read than asked for. */
export function pageOf<Row, Item>(
  rows: readonly Row[],
  limit: number,
  item: (row: Row) => Item,
  cursor: (last: Row) => string,
): Page<Item> {
  const shown = rows.slice(0, limit)
  const last = shown.at(-1)
  return { items: shown.map(item), next: rows.length > limit && last !== undefined ? cursor(last) : null }
}

/** Every attempt: those that were remembered, and the last one as the task's own row tells it. */
export function readAttempts(db: Statements, id: string): AttemptRecord[] {
  const remembered = db.sql('SELECT * FROM gleaner_attempts WHERE task = ? ORDER BY id').all(rowid(id)) as {
    attempt: number
    session: number | null
    outcome: AttemptOutcome
    started_at: number | null
    finished_at: number
    error: string | null
  }[]
  const attempts: AttemptRecord[] = remembered.map((row) => ({
    attempt: row.attempt,
    worker: row.session === null ? null : workerOf(db, row.session),
    outcome: row.outcome,
    startedAt: row.started_at,
    finishedAt: row.finished_at,
    error: json(row.error) as AttemptRecord['error'],
  }))
  const row = db.sql('SELECT * FROM gleaner_tasks WHERE id = ?').get(rowid(id)) as TaskRow | undefined
  if (row === undefined || (row.status !== 'running' && row.status !== 'completed')) return attempts
  const last: AttemptRecord = {
    attempt: row.attempts,
    worker: row.session === null ? null : workerOf(db, row.session),
    outcome: row.status,
    startedAt: row.started_at,
    finishedAt: row.finished_at,
    error: null,
  }
  return [...attempts, last]
}

export function readEndings(db: Statements, ids: readonly string[]): Map<string, Ending> {
  const endings = new Map<string, Ending>()
  for (const id of ids) {
    const row = db
      .sql('SELECT status, result, error, finished_at FROM gleaner_tasks WHERE id = ?')
      .get(rowid(id)) as Pick<TaskRow, 'status' | 'result' | 'error' | 'finished_at'> | undefined
    if (row === undefined) endings.set(id, { status: 'gone', result: null, error: null })
    else if (row.finished_at !== null) {
      const status = row.status as FinishedStatus
      endings.set(id, {
        status,
        result: json(row.result),
        error: json(row.error) as Ending['error'],
      } as Ending)
    }
  }
  return endings
}
