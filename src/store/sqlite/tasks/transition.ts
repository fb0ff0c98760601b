import type { Held, Transition, Waiting } from '../../../model/outcome.ts'
import type { AttemptOutcome, Failure, TaskStatus } from '../../../model/task.ts'
import type { Statements } from '../file/statements.ts'
import type { Memory } from '../memory.ts'
import type { Tally } from './tally.ts'

/** A held task's row, as far as decisions need it. */
export interface HeldRow extends Held {
  rowid: number
  lane: number
  priority: number
  session: number
  fence: number
  startedAt: number | null
}

const COLUMNS = `id, lane, priority, status, attempts, max_attempts, crashes, suspect, session, fence,
  started_at, cancel_requested`

interface HeldSql {
  id: number
  lane: number
  priority: number
  status: TaskStatus
  attempts: number
  max_attempts: number
  crashes: number
  suspect: number
  session: number
  fence: number
  started_at: number | null
  cancel_requested: number
}

/** The task, if this session holds it under this fence. */
export function heldBy(db: Statements, session: number, id: number, fence: number): HeldRow | null {
  const row = db
    .sql(`SELECT ${COLUMNS} FROM gleaner_tasks WHERE id = ? AND fence = ? AND session = ?`)
    .get(id, fence, session) as HeldSql | undefined
  return row === undefined ? null : held(row)
}

export function allHeldBy(db: Statements, session: number): HeldRow[] {
  const rows = db.sql(`SELECT ${COLUMNS} FROM gleaner_held WHERE session = ?`).all(session) as HeldSql[]
  return rows.map(held)
}

/** Reads the whole table: it is for `check`. */
export function heldOutOfReach(db: Statements): HeldRow[] {
  const rows = db
    .sql(`SELECT ${COLUMNS} FROM gleaner_tasks WHERE fence IS NOT NULL AND (
            id NOT IN (SELECT id FROM gleaner_held)
            OR session NOT IN (SELECT id FROM gleaner_sessions WHERE ended_at IS NULL))`)
    .all() as HeldSql[]
  return rows.map(held)
}

function held(row: HeldSql): HeldRow {
  return {
    id: String(row.id),
    rowid: row.id,
    lane: row.lane,
    priority: row.priority,
    session: row.session,
    fence: row.fence,
    attempts: row.attempts,
    maxAttempts: row.max_attempts,
    crashes: row.crashes,
    suspect: row.suspect === 1,
    started: row.status === 'running',
    startedAt: row.started_at,
    cancelRequested: row.cancel_requested === 1,
  }
}

/** Executes what the model decided for a held task, and frees it. */
export function apply(
  db: Statements,
  memory: Memory,
  task: HeldRow,
  transition: Transition,
  now: number,
  tally: Tally,
): void {
  const attempt = (outcome: AttemptOutcome, error: Failure | null) =>
    rememberAttempt(db, task, outcome, error, now)
  tally.settled(task.fence, task.lane, 1)
  switch (transition.to) {
    case 'completed':
      finish(db, task, 'completed', { result: transition.result }, now)
      return tally.add(task.lane, 'completed', 1)
    case 'failed':
      attempt(transition.outcome, transition.failure)
      finish(db, task, 'failed', { error: transition.failure, crashes: transition.crashes }, now)
      return tally.add(task.lane, 'failed', 1)
    case 'cancelled':
      if (task.started) attempt('cancelled', null)
      finish(db, task, 'cancelled', { attempts: transition.attempts }, now)
      return tally.add(task.lane, 'cancelled', 1)
    case 'waiting':
      if (transition.outcome !== null) attempt(transition.outcome, transition.failure)
      if (transition.afterMs > 0) tally.add(task.lane, 'scheduled', 1)
      else tally.arrived(task.lane)
      return wait(db, memory, task, transition, now)
  }
}

function finish(
  db: Statements,
  task: HeldRow,
  status: 'completed' | 'failed' | 'cancelled',
  end: { result?: string | null; error?: Failure; crashes?: number; attempts?: number },
  now: number,
): void {
  db.sql(`UPDATE gleaner_tasks SET status = ?, fence = NULL, cancel_requested = 0, started_at = ?, finished_at = ?,
            result = ?, error = ?, crashes = ?, attempts = ? WHERE id = ?`).run(
    status,
    task.startedAt,
    now,
    end.result ?? null,
    end.error === undefined ? null : JSON.stringify(end.error),
    end.crashes ?? task.crashes,
    end.attempts ?? task.attempts,
    task.rowid,
  )
}

function wait(db: Statements, memory: Memory, task: HeldRow, to: Waiting, now: number): void {
  const delayed = to.afterMs > 0
  db.sql(`UPDATE gleaner_tasks SET status = ?, rank = iif(?, ?, rank), run_after = coalesce(?, run_after),
            fence = NULL, attempts = ?, crashes = ?, suspect = ?, error = coalesce(?, error), started_at = NULL, progress = NULL,
            progress_message = NULL WHERE id = ?`).run(
    delayed ? 'scheduled' : 'queued',
    to.keepsPlace ? 0 : 1,
    to.keepsPlace || delayed ? null : rankNow(memory, task, now),
    delayed ? now + to.afterMs : null,
    to.attempts,
    to.crashes,
    to.suspect ? 1 : 0,
    to.failure === null ? null : JSON.stringify(to.failure),
    task.rowid,
  )
}

function rankNow({ lanes, queues }: Memory, { lane, priority }: HeldRow, now: number): number {
  queues.knowing()
  return queues.draw(lanes.get(lane).queue, priority, now)
}

function rememberAttempt(
  db: Statements,
  task: HeldRow,
  outcome: AttemptOutcome,
  error: Failure | null,
  now: number,
): void {
  db.sql(`INSERT INTO gleaner_attempts (task, attempt, session, outcome, started_at, finished_at, error)
          VALUES (?, ?, ?, ?, ?, ?, ?)`).run(
    task.rowid,
    task.attempts,
    task.session,
    outcome,
    task.startedAt,
    now,
    error === null ? null : JSON.stringify(error),
  )
}
