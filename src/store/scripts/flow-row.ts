import type { FlowKind, FlowRecord, OnFailure } from '../../model/flow.ts'
import { one, type Script } from '../sql/script.ts'
import { type Fragment, sql } from '../sql/sql.ts'

/** A flow as the table has it. */
export interface FlowRow {
  id: number
  kind: FlowKind
  waiter: string | null
  name: string
  number: number
  on_failure: OnFailure
  concurrency: number | null
  depth: number
  total: number
  queued: number
  completed: number
  failed: number
  cancelled: number
  removed: number
  followers: string | null
  then_task: number | null
  catch_task: number | null
  created_at: number
  resolved_at: number | null
}

/** The columns of a `FlowRow`. */
export const FLOW: Fragment = sql`id, kind, waiter, name, number, on_failure, concurrency, depth, total, queued, completed, failed,
  cancelled, removed, followers, then_task, catch_task, created_at, resolved_at`

export function readFlow(id: number): Script<FlowRow | undefined> {
  return one<FlowRow>(sql`SELECT ${FLOW} FROM gleaner.flows AS f WHERE f.id = ${id}`)
}

export function flowRecord(row: FlowRow): FlowRecord {
  const { id, kind, waiter, name, number, concurrency, total, completed, failed, cancelled, removed } = row
  return {
    id: String(id),
    kind,
    name,
    number,
    waiter,
    onFailure: row.on_failure,
    concurrency,
    total,
    completed,
    failed,
    cancelled,
    removed,
    createdAt: row.created_at,
    resolvedAt: row.resolved_at,
    thenTask: textOf(row.then_task),
    catchTask: textOf(row.catch_task),
  }
}

function textOf(id: number | null): string | null {
  return id === null ? null : String(id)
}
