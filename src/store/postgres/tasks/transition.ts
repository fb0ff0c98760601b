import type { Held, Transition, Waiting } from '../../../model/outcome.ts'
import type { AttemptOutcome, Failure, FinishedStatus, TaskStatus } from '../../../model/task.ts'
import type { Memory } from '../memory.ts'
import { numberList, type Sql } from '../server/sql.ts'
import { fileFinished } from './finished.ts'
import { rowid } from './rowid.ts'
import type { Tally } from './tally.ts'

/** A held task's row, as far as decisions need it. */
export interface HeldRow extends Held {
  lane: number
  priority: number
  session: number
  startedAt: number | null
}

/** A held task, and what becomes of it. */
export interface Decided {
  task: HeldRow
  transition: Transition
}

const COLUMNS = `id::text AS id, lane, priority, status, attempts, max_attempts AS "maxAttempts", crashes, suspect, session,
  started_at AS "startedAt", cancel_requested AS "cancelRequested"`

type Row = Omit<HeldRow, 'started'> & { status: TaskStatus }

/** By id, those of the tasks that this session holds, with their fences; locked until the end of the transaction. */
export async function heldAmong(
  sql: Sql,
  session: string,
  ids: readonly string[],
): Promise<Map<string, HeldRow & { fence: number | null }>> {
  if (ids.length === 0) return new Map()
  const rows = await sql.rows<Row & { fence: number | null }>(
    `SELECT ${COLUMNS}, fence FROM gleaner.tasks WHERE id = ANY($1::bigint[]) AND session = $2 ORDER BY tasks.id FOR UPDATE`,
    [numberList(ids.map(rowid)), session],
  )
  return new Map(rows.map((row) => [row.id, { ...row, started: row.status === 'running' }]))
}

export async function allHeldBy(sql: Sql, sessions: readonly (string | number)[]): Promise<HeldRow[]> {
  const rows = await sql.rows<Row>(
    `SELECT ${COLUMNS} FROM gleaner.tasks
     WHERE id = ANY(ARRAY(SELECT pg_catalog.unnest(tasks) FROM gleaner.batches WHERE session = ANY($1::bigint[])))
       AND session = ANY($1::bigint[]) AND fence IS NOT NULL
     ORDER BY tasks.id FOR UPDATE`,
    [sessions],
  )
  return rows.map((row) => ({ ...row, started: row.status === 'running' }))
}

/** Those that are held under these fences, by whatever session. */
export async function heldUnder(
  sql: Sql,
  proofs: readonly { id: string; fence: number }[],
): Promise<HeldRow[]> {
  const rows = await sql.rows<Row>(
    `SELECT ${COLUMNS} FROM gleaner.tasks
     WHERE (id, fence) IN (SELECT * FROM unnest($1::bigint[], $2::bigint[])) ORDER BY tasks.id FOR UPDATE`,
    [numberList(proofs.map(({ id }) => id)), numberList(proofs.map(({ fence }) => fence))],
  )
  return rows.map((row) => ({ ...row, started: row.status === 'running' }))
}

/** Executes what the model decided for held tasks, and frees them. */
export async function applyAll(
  sql: Sql,
  memory: Memory,
  decided: readonly Decided[],
  now: number,
  tally: Tally,
): Promise<void> {
  const unstarted = decided.filter(isAsIfNeverClaimed)
  await putBack(
    sql,
    unstarted.map(({ task }) => task),
    tally,
  )
  for (const one of decided)
    if (!isAsIfNeverClaimed(one)) await apply(sql, memory, one.task, one.transition, now, tally)
}

/** Held ahead and never started: there may be hundreds of these. */
function isAsIfNeverClaimed({ task, transition: to }: Decided): boolean {
  if (to.to !== 'waiting' || !to.keepsPlace || to.afterMs > 0) return false
  if (to.outcome !== null || to.failure !== null) return false
  return to.attempts === task.attempts - 1 && to.crashes === task.crashes && to.suspect === task.suspect
}

/** All at once: where they stood, with the attempt returned. */
async function putBack(sql: Sql, tasks: readonly HeldRow[], tally: Tally): Promise<void> {
  if (tasks.length === 0) return
  for (const { lane } of tasks) {
    tally.slots.freed(lane, 1)
    tally.slots.arrived(lane)
  }
  await sql.run(
    `UPDATE gleaner.tasks SET status = 'queued', in_line = true, delayed = false, fence = NULL, attempts = attempts - 1,
       started_at = NULL, progress = NULL, progress_message = NULL WHERE id = ANY($1::bigint[])`,
    [numberList(tasks.map(({ id }) => id))],
  )
}

async function apply(
  sql: Sql,
  memory: Memory,
  task: HeldRow,
  transition: Transition,
  now: number,
  tally: Tally,
): Promise<void> {
  const remember = (outcome: AttemptOutcome, error: Failure | null) =>
    rememberAttempt(sql, task, outcome, error, now)
  tally.slots.freed(task.lane, 1)
  switch (transition.to) {
    case 'completed':
      return finish(sql, task, 'completed', { result: transition.result }, now, tally)
    case 'failed':
      await remember(transition.outcome, transition.failure)
      return finish(
        sql,
        task,
        'failed',
        { error: transition.failure, crashes: transition.crashes },
        now,
        tally,
      )
    case 'cancelled':
      if (task.started) await remember('cancelled', null)
      return finish(sql, task, 'cancelled', { attempts: transition.attempts }, now, tally)
    case 'waiting':
      if (transition.outcome !== null) await remember(transition.outcome, transition.failure)
      return wait(sql, memory, task, transition, now, tally)
  }
}

async function finish(
  sql: Sql,
  task: HeldRow,
  status: FinishedStatus,
  end: { result?: string | null; error?: Failure; crashes?: number; attempts?: number },
  now: number,
  tally: Tally,
): Promise<void> {
  tally.add(task.lane, status, 1)
  await fileFinished(sql, task.lane, status, now, [task.id])
  await sql.run(
    `UPDATE gleaner.tasks SET status = $1, fence = NULL, cancel_requested = false, active_key = NULL, started_at = $2, finished_at = $3,
       result = $4, error = $5, crashes = $6, attempts = $7 WHERE id = $8`,
    [
      status,
      task.startedAt,
      now,
      end.result ?? null,
      end.error === undefined ? null : JSON.stringify(end.error),
      end.crashes ?? task.crashes,
      end.attempts ?? task.attempts,
      task.id,
    ],
  )
}

async function wait(
  sql: Sql,
  memory: Memory,
  task: HeldRow,
  to: Waiting,
  now: number,
  tally: Tally,
): Promise<void> {
  const delayed = to.afterMs > 0
  if (delayed) tally.add(task.lane, 'scheduled', 1)
  else tally.slots.arrived(task.lane)
  await sql.run(
    `UPDATE gleaner.tasks SET status = $1, in_line = $1 = 'queued', delayed = $1 = 'scheduled',
       rank = CASE WHEN $2 THEN rank ELSE $9::bigint END,
       run_after = coalesce($3, run_after), fence = NULL, attempts = $4, crashes = $5, suspect = $6,
       error = coalesce($7, error), started_at = NULL, progress = NULL, progress_message = NULL WHERE id = $8`,
    [
      delayed ? 'scheduled' : 'queued',
      to.keepsPlace,
      delayed ? now + to.afterMs : null,
      to.attempts,
      to.crashes,
      to.suspect,
      to.failure === null ? null : JSON.stringify(to.failure),
      task.id,
      to.keepsPlace || delayed ? null : await rankNow(sql, memory, task, now),
    ],
  )
}

async function rankNow(sql: Sql, memory: Memory, { lane, priority }: HeldRow, now: number): Promise<number> {
  const { queue } = await memory.lanes.get(lane, sql)
  return memory.queues.draw(sql, { queue, priority, queuedAtMs: now })
}

async function rememberAttempt(
  sql: Sql,
  task: HeldRow,
  outcome: AttemptOutcome,
  error: Failure | null,
  now: number,
): Promise<void> {
  await sql.run(
    `INSERT INTO gleaner.attempts (task, attempt, session, outcome, started_at, finished_at, error)
     VALUES ($1, $2, $3, $4, $5, $6, $7)`,
    [
      task.id,
      task.attempts,
      task.session,
      outcome,
      task.startedAt,
      now,
      error === null ? null : JSON.stringify(error),
    ],
  )
}
