import { readRowId, rowId } from '../../model/row.ts'
import type { ClaimProof } from '../ports/exchange.ts'
import type { Overrides } from '../ports/new-task.ts'
import type { HeldClaim } from '../ports/sessions.ts'
import { one, type Script } from '../sql/script.ts'
import { sql } from '../sql/sql.ts'

interface HolderRow {
  session: string
  worker: string
  caller: string | null
  lease_ms: number | null
  attempt: number
  started_at: number | null
}

/** What is held under this fence by a live session. */
export function readHeldClaim({ id, fence }: ClaimProof): Script<HeldClaim | null> {
  const row = readRowId(id)
  return row === null ? readHeldTask(id, fence) : readHeldRow(row, fence)
}

interface TaskRow extends HolderRow {
  name: string
  queue: string
  max_attempts: number
  overrides: string | null
  cancel_requested: number
}

function* readHeldTask(id: string, fence: number): Script<HeldClaim | null> {
  // More digits than a bigint has are no id.
  if (!/^\d{1,18}$/.test(id)) return null
  const row = yield* one<TaskRow>(sql`
    SELECT CAST(s.id AS text) AS session, s.worker, s.caller, s.lease_ms, t.attempts AS attempt, t.started_at, l.name, l.queue,
      t.max_attempts, t.overrides, CASE WHEN t.cancel_requested THEN 1 ELSE 0 END AS cancel_requested
    FROM gleaner.tasks AS t JOIN gleaner.lanes AS l ON l.id = t.lane JOIN gleaner.sessions AS s ON s.id = t.session
    WHERE t.id = ${Number(id)} AND t.fence = ${fence} AND s.ended_at IS NULL`)
  if (row === undefined) return null
  const { name, queue, max_attempts: maxAttempts, overrides } = row
  return {
    ...holderOf(row),
    ...{ id, fence, name, queue, maxAttempts },
    overrides: overrides === null ? null : (JSON.parse(overrides) as Overrides),
    cancelRequested: row.cancel_requested === 1,
  }
}

function* readHeldRow(
  { discovery, key }: { discovery: string; key: string },
  fence: number,
): Script<HeldClaim | null> {
  const row = yield* one<HolderRow>(sql`
    SELECT CAST(s.id AS text) AS session, s.worker, s.caller, s.lease_ms, c.attempt, c.started_at
    FROM gleaner.claims AS c JOIN gleaner.sessions AS s ON s.id = c.session
    WHERE c.discovery = ${discovery} AND c.row_key = ${key} AND c.fence = ${fence} AND s.ended_at IS NULL`)
  if (row === undefined) return null
  const ofTasks = { queue: null, maxAttempts: null, overrides: null, cancelRequested: false }
  return { ...holderOf(row), id: rowId(discovery, key), fence, name: discovery, ...ofTasks }
}

function holderOf({ lease_ms: leaseMs, started_at: startedAt, ...row }: HolderRow) {
  const { session, worker, caller, attempt } = row
  return { session, worker, caller, leaseMs, attempt, startedAt }
}
