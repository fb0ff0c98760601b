import {
  decide,
  type Held,
  type Outcome,
  returned,
  type Suspended,
  type Transition,
  type Waiting,
} from '../../model/outcome.ts'
import type { AttemptOutcome, Failure, FinishedStatus, TaskStatus } from '../../model/task.ts'
import type { ClaimProof, Run } from '../ports/exchange.ts'
import type { Dialect } from '../sql/dialect.ts'
import { change, type Script } from '../sql/script.ts'
import { sql } from '../sql/sql.ts'
import { hasArrived, keepWaits } from './waits.ts'

/** A task that a worker holds, as far as decisions need it. */
export interface HeldTask extends Held {
  rowid: number
  lane: number
  priority: number
  session: number
  fence: number
  startedAt: number | null
  orderKey: string | null
}

/** The columns of a `HeldTaskRow`. */
export const HELD_TASK = `id, lane, priority, status, attempts, max_attempts, crashes, suspect, session, fence, started_at,
  cancel_requested, order_key`

export interface HeldTaskRow {
  id: number
  lane: number
  priority: number
  status: TaskStatus
  attempts: number
  max_attempts: number
  crashes: number
  suspect: number | boolean
  session: number
  fence: number
  started_at: number | null
  cancel_requested: number | boolean
  order_key: string | null
}

export function heldTask(row: HeldTaskRow): HeldTask {
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
    suspect: Boolean(row.suspect),
    started: row.status === 'running',
    startedAt: row.started_at,
    cancelRequested: Boolean(row.cancel_requested),
    orderKey: row.order_key,
  }
}

/** A held task, and what becomes of it. */
export interface Decided {
  task: HeldTask
  transition: Transition
}

/** What a worker hands in, and what follows. */
export interface DecidedOutcomes {
  decided: Decided[]
  /** The worker does not hold them. */
  refused: string[]
  ended: string[]
  /** Some of them wait again. */
  requeued: boolean
}

/** `heldAs`: the task, if the worker holds it under this fence. */
export function decideOutcomes(
  outcomes: readonly (Run & { outcome: Outcome })[],
  heldAs: (proof: ClaimProof) => HeldTask | null,
): DecidedOutcomes {
  const answer: DecidedOutcomes = { decided: [], refused: [], ended: [], requeued: false }
  const seen = new Set<string>()
  for (const { id, fence, outcome, startedAt } of outcomes) {
    const task = seen.has(id) ? null : heldAs({ id, fence })
    if (task === null) {
      answer.refused.push(id)
      continue
    }
    // Once: the first outcome frees it.
    seen.add(id)
    // A start that was not yet written down is known now. A task that goes back unstarted has none.
    const started =
      outcome.kind === 'returned' ? {} : { started: true, startedAt: task.startedAt ?? startedAt }
    const run = { ...task, ...started }
    const transition = decide(run, outcome)
    answer.decided.push({ task: run, transition })
    if (transition.to === 'waiting') answer.requeued = true
    else if (transition.to !== 'suspended') answer.ended.push(id)
  }
  return answer
}

/** Tasks that the store has in the name of a worker, and that the worker does not know of, go back. */
export function giveBackUnknown(held: readonly HeldTask[], known: ReadonlySet<string>): Decided[] {
  return held
    .filter(({ id }) => !known.has(id))
    .map((task) => ({ task, transition: decide({ ...task, started: false }, { kind: 'returned' }) }))
}

/** What each database does in its own way when a task is freed. Counts are written at the end of the transaction. */
export interface FreeingTasks {
  /** The rank of a task that becomes queued now. */
  rank(task: HeldTask, now: number): Script<number>
  listAsFinished(task: HeldTask, status: FinishedStatus, finishedAt: number): Script<unknown>
  /** The worker does not hold the task any more: its claim and its limits count one less. */
  countFreed(task: HeldTask): void
  countArrived(lane: number): void
  /** The task is finished: the next one of its order key may lead. */
  countLed(task: HeldTask): unknown
  count(lane: number, counter: 'scheduled' | 'suspended' | FinishedStatus): void
}

/** In a transaction: executes what the model decided for held tasks, and frees them. True: one was to be suspended, and is queued. */
export function* applyTransitions(
  db: Dialect,
  freeing: FreeingTasks,
  decided: readonly Decided[],
  now: number,
): Script<boolean> {
  const unstarted = decided.filter(isAsIfNeverClaimed)
  yield* putBack(
    db,
    freeing,
    unstarted.map(({ task }) => task),
  )
  let resumed = false
  for (const one of decided)
    if (!isAsIfNeverClaimed(one) && (yield* apply(db, freeing, one, now))) resumed = true
  return resumed
}

/** Prefetched and never started: there may be hundreds of these. */
function isAsIfNeverClaimed({ task, transition: to }: Decided): boolean {
  if (to.to !== 'waiting' || !to.keepsPlace || to.afterMs > 0) return false
  if (to.outcome !== null || to.failure !== null) return false
  return to.attempts === task.attempts - 1 && to.crashes === task.crashes && to.suspect === task.suspect
}

/** All at once: where they were, with the attempt returned. */
function* putBack(db: Dialect, freeing: FreeingTasks, tasks: readonly HeldTask[]): Script<void> {
  if (tasks.length === 0) return
  for (const task of tasks) {
    freeing.countFreed(task)
    freeing.countArrived(task.lane)
  }
  yield* change(sql`
    UPDATE gleaner.tasks SET status = 'queued', fence = NULL, attempts = attempts - 1, started_at = NULL, progress = NULL,
      progress_message = NULL ${db.schema.alsoWhenQueued} WHERE id ${db.oneOf(tasks.map(({ rowid }) => rowid))}`)
}

function* apply(
  db: Dialect,
  freeing: FreeingTasks,
  { task, transition }: Decided,
  now: number,
): Script<boolean> {
  freeing.countFreed(task)
  switch (transition.to) {
    case 'completed':
      yield* finish(db, freeing, { task, status: 'completed', result: transition.result }, now)
      return false
    case 'failed': {
      const { failure, outcome, crashes } = transition
      yield* rememberAttempt(task, { outcome, failure }, now)
      yield* finish(db, freeing, { task, status: 'failed', failure, crashes }, now)
      return false
    }
    case 'cancelled':
      if (task.started) yield* rememberAttempt(task, { outcome: 'cancelled', failure: null }, now)
      yield* finish(db, freeing, { task, status: 'cancelled', attempts: transition.attempts }, now)
      return false
    case 'suspended':
      yield* rememberAttempt(task, { outcome: 'suspended', failure: null }, now)
      return yield* suspend(db, freeing, { task, to: transition }, now)
    case 'waiting': {
      const { outcome, failure } = transition
      if (outcome !== null) yield* rememberAttempt(task, { outcome, failure }, now)
      yield* wait(db, freeing, { task, to: transition }, now)
      return false
    }
  }
}

interface Finish {
  task: HeldTask
  status: FinishedStatus
  result?: string | null
  failure?: Failure
  crashes?: number
  attempts?: number
}

function* finish(db: Dialect, freeing: FreeingTasks, end: Finish, now: number): Script<void> {
  const { task, status, result = null, crashes = task.crashes, attempts = task.attempts } = end
  freeing.count(task.lane, status)
  freeing.countLed(task)
  yield* freeing.listAsFinished(task, status, now)
  yield* change(sql`
    UPDATE gleaner.tasks SET status = ${status}, fence = NULL, cancel_requested = ${false}, started_at = ${task.startedAt},
      finished_at = ${now}, result = ${result}, error = ${json(end.failure)}, crashes = ${crashes}, attempts = ${attempts}
      ${db.schema.alsoWhenFinished} WHERE id = ${task.rowid}`)
}

function* wait(
  db: Dialect,
  freeing: FreeingTasks,
  { task, to }: { task: HeldTask; to: Waiting },
  now: number,
): Script<void> {
  const isDelayed = to.afterMs > 0
  if (isDelayed) freeing.count(task.lane, 'scheduled')
  else freeing.countArrived(task.lane)
  const runAfter = isDelayed ? now + to.afterMs : null
  const rank = to.keepsPlace || isDelayed ? null : yield* freeing.rank(task, now)
  yield* change(sql`
    UPDATE gleaner.tasks SET status = ${isDelayed ? 'scheduled' : 'queued'} ${to.keepsPlace ? sql`` : sql`, rank = ${rank}`},
      run_after = coalesce(${runAfter}, run_after), fence = NULL, attempts = ${to.attempts}, crashes = ${to.crashes},
      suspect = ${to.suspect}, error = coalesce(${json(to.failure)}, error), started_at = NULL, progress = NULL,
      progress_message = NULL ${isDelayed ? db.schema.alsoWhenScheduled : db.schema.alsoWhenQueued}
    WHERE id = ${task.rowid}`)
}

/** What it waits for may have come since its run ended: then it is queued at once, and the answer is true. */
function* suspend(
  db: Dialect,
  freeing: FreeingTasks,
  { task, to }: { task: HeldTask; to: Suspended },
  now: number,
): Script<boolean> {
  const { waits, afterMs, attempts } = to
  if (yield* hasArrived(db, task.id, waits, now)) {
    yield* wait(db, freeing, { task, to: { ...returned(task, null), keepsPlace: false } }, now)
    return true
  }
  freeing.count(task.lane, 'suspended')
  yield* keepWaits(db, task.id, waits, now)
  yield* change(sql`
    UPDATE gleaner.tasks SET status = 'suspended', rank = NULL, run_after = ${afterMs === null ? null : now + afterMs},
      fence = NULL, attempts = ${attempts}, started_at = NULL, progress = NULL, progress_message = NULL
      ${db.schema.alsoWhenSuspended(afterMs !== null)}
    WHERE id = ${task.rowid}`)
  return false
}

function rememberAttempt(
  task: HeldTask,
  { outcome, failure }: { outcome: AttemptOutcome; failure: Failure | null },
  now: number,
): Script<number> {
  return change(sql`
    INSERT INTO gleaner.attempts (task, attempt, session, outcome, started_at, finished_at, error)
    VALUES (${task.rowid}, ${task.attempts}, ${task.session}, ${outcome}, ${task.startedAt}, ${now}, ${json(failure)})`)
}

function json(failure: Failure | null | undefined): string | null {
  return failure === null || failure === undefined ? null : JSON.stringify(failure)
}
