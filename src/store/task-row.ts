import { readExactly } from '../exact-json.ts'
import type {
  AttemptOutcome,
  AttemptRecord,
  Failure,
  FinishedStatus,
  Page,
  TaskRecord,
  TaskStatus,
} from '../model/task.ts'
import { withoutMark } from './follower.ts'
import type { Lane } from './lane.ts'
import { PageBytes } from './page-bytes.ts'
import type { TaskResult } from './ports/tasks.ts'

/** A task's row, in either store. */
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

/** Ids are opaque strings to all callers. A text that is no id of ours names no task. */
export function rowid(id: string): number {
  return /^[1-9]\d{0,14}$/.test(id) ? Number(id) : 0
}

/** The key as it is stored: unique per task name. A name holds no slash. */
export function storedKey({ name, key }: { name: string; key: string | null }): string | null {
  return key === null ? null : `${name}/${key}`
}

/** Of a task that has one: strict order holds among tasks of one name. */
export function storedOrderKey({ name, orderKey }: { name: string; orderKey?: string }): string {
  return `${name}/${orderKey}`
}

/** The key as the user gave it. */
export function userKey(name: string, stored: string | null): string | null {
  return stored === null ? null : withoutMark(stored).slice(name.length + 1)
}

/** Due counts as queued, even before anybody moved it. */
export function statusOf(
  { status, run_after }: Pick<TaskRow, 'status' | 'run_after'>,
  now: number,
): TaskStatus {
  if (status === 'suspended') return run_after !== null && run_after <= now ? 'queued' : status
  return status === 'scheduled' && (run_after ?? 0) <= now ? 'queued' : status
}

export function taskRecord(row: TaskRow, lane: Lane, worker: string | null, now: number): TaskRecord {
  return {
    id: String(row.id),
    name: lane.name,
    queue: lane.queue,
    status: statusOf(row, now),
    priority: row.priority,
    attempts: row.attempts,
    maxAttempts: row.max_attempts,
    crashes: row.crashes,
    input: row.input === null ? null : readExactly(row.input),
    result: row.result === null ? null : readExactly(row.result),
    error: json(row.error) as TaskRecord['error'],
    progress: row.progress === null ? null : { fraction: row.progress, message: row.progress_message },
    key: userKey(lane.name, row.key),
    requires: lane.requires,
    worker,
    createdAt: row.created_at,
    runAfter: row.run_after,
    startedAt: row.started_at,
    finishedAt: row.finished_at,
  }
}

export interface AttemptRow {
  attempt: number
  worker: string | null
  outcome: AttemptOutcome
  started_at: number | null
  finished_at: number | null
  error: string | null
}

export function attemptRecord(row: AttemptRow): AttemptRecord {
  return {
    attempt: row.attempt,
    worker: row.worker,
    outcome: row.outcome,
    startedAt: row.started_at,
    finishedAt: row.finished_at,
    error: json(row.error) as AttemptRecord['error'],
  }
}

/** The attempt that the task's own row tells: the one under way, or the one that completed it. */
export function lastAttempt(row: TaskRow | undefined, worker: string | null): AttemptRecord[] {
  if (row === undefined || (row.status !== 'running' && row.status !== 'completed')) return []
  const { attempts: attempt, status: outcome, started_at, finished_at } = row
  return [attemptRecord({ attempt, worker, outcome, started_at, finished_at, error: null })]
}

/** Null: not yet. Without a row there is no such task (any more). */
export function resultOf(
  row: Pick<TaskRow, 'status' | 'result' | 'error' | 'finished_at'> | undefined,
): TaskResult | null {
  if (row === undefined) return { status: 'gone', result: null, error: null }
  if (row.finished_at === null) return null
  const status = row.status as FinishedStatus
  const result = row.result === null ? null : readExactly(row.result)
  return { status, result, error: json(row.error) as Failure | null }
}

function json(text: string | null): unknown {
  return text === null ? null : JSON.parse(text)
}

/** A page of rows, of which one more was read than asked for; shorter if they are large. */
export function pageOf<Row, Item>(
  rows: readonly Row[],
  limit: number,
  item: (row: Row) => Item,
  cursor: (last: Row) => string,
): Page<Item> {
  const bytes = new PageBytes()
  const items: Item[] = []
  for (const row of rows.slice(0, limit)) {
    const shown = item(row)
    if (!bytes.hasRoomFor(shown)) break
    items.push(shown)
  }
  const last = rows[items.length - 1]
  return { items, next: rows.length > items.length && last !== undefined ? cursor(last) : null }
}
