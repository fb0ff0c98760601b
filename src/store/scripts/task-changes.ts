import { type Failure, type FinishedStatus, isFinished, type TaskStatus } from '../../model/task.ts'
import { type Changeable, decideCancel, decideRemove, decideRetry } from '../../model/task-change.ts'
import type {
  BulkChange,
  BulkStep,
  BulkStepDone,
  CancelAnswer,
  Refusal,
  RemoveAnswer,
  RetryAnswer,
} from '../ports/tasks.ts'
import type { Dialect } from '../sql/dialect.ts'
import { change, one, rows, type Script } from '../sql/script.ts'
import { type Fragment, sql } from '../sql/sql.ts'
import { startedBefore } from '../task-filter.ts'
import { statusOf } from '../task-row.ts'
import type { CounterChange } from './counter-change.ts'
import { removeStepsOf } from './steps.ts'
import { scanTasks } from './task-list.ts'
import type { Known } from './task-records.ts'
import { forgetWaits } from './waits.ts'

/** What operators change tasks with, beside SQL that both databases understand. */
export interface ChangingTasks extends Known {
  /** The task that holds each of these stored keys. In a transaction the answer stays true until its end. */
  keyHolders(keys: readonly string[], transaction: boolean): Script<Map<string, string>>
  /** The ranks of tasks that become queued now. */
  ranks(tasks: readonly ChangedTask[], now: number): Script<readonly number[]>
  /** Tasks that the transaction has locked: brings the list of finished tasks up to date, if the database has one. */
  listAsFinished(
    tasks: readonly ChangedTask[],
    at: { status: FinishedStatus; finishedAt: number },
  ): Script<void>
  takeOffFinished(tasks: readonly ChangedTask[]): Script<void>
  /** Adds to the counters of lanes. */
  count(changes: readonly CounterChange[]): Script<void>
  /** Tasks of these order keys have finished, wait again or are gone: another one may lead. */
  freeOrders(keys: readonly string[]): Script<unknown>
  /** Tasks that the transaction has locked and no worker holds, with all that belongs to them except their `forever` keys. */
  remove(ids: readonly number[]): Script<unknown>
}

export interface ChangedTask extends Changeable {
  readonly rowid: number
  readonly lane: number
  readonly priority: number
  readonly runAfter: number | null
  readonly startedAt: number | null
  readonly finishedAt: number | null
  readonly key: string | null
  readonly orderKey: string | null
}

export function* retryTask(db: Dialect, changing: ChangingTasks, id: number): Script<RetryAnswer> {
  const task = yield* lockTask(db, id)
  if (task === undefined) return 'gone'
  const holders = isFinished(task.status) ? yield* holdersOf(changing, [task], true) : new Map()
  const decision = decideRetry(task, holders.get(task.key ?? ''))
  if (decision !== 'retry') return decision
  yield* requeue(db, changing, [task])
  return 'retried'
}

/** `freed`: another task of its order key may run now. */
interface Changed<Answer> {
  answer: Answer
  freed: boolean
}

export function* cancelTask(db: Dialect, changing: ChangingTasks, id: number): Script<Changed<CancelAnswer>> {
  const task = yield* lockTask(db, id)
  if (task === undefined) return { answer: 'gone', freed: false }
  const decision = decideCancel(task)
  if (decision === 'finished') return { answer: 'finished', freed: false }
  if (decision === 'cancel') {
    yield* cancelWaiting(db, changing, [task])
    return { answer: 'cancelled', freed: task.orderKey !== null }
  }
  yield* requestCancel(db, [task])
  return { answer: 'requested', freed: false }
}

/** With its logs, attempts, input and `forever` key. That key may be all that is left of it. */
export function* removeTask(db: Dialect, changing: ChangingTasks, id: number): Script<Changed<RemoveAnswer>> {
  const task = yield* lockTask(db, id)
  if (task === undefined) {
    const isHeld = (yield* freeForeverKeys(db, [id])) > 0
    return { answer: isHeld ? 'removed' : 'gone', freed: false }
  }
  if (decideRemove(task) === 'running') return { answer: 'running', freed: false }
  yield* removeAll(db, changing, [task])
  return { answer: 'removed', freed: task.orderKey !== null }
}

/** What a step of a bulk change did, as far as other processes must know. */
export interface BulkEffect {
  answer: BulkStepDone
  ended: string[]
  requested: boolean
  /** Other tasks of their order keys may run now. */
  freed: boolean
}

/** In a transaction; a dry run needs none. A few statements for all tasks of the step. */
export function* changeTasks(db: Dialect, changing: ChangingTasks, step: BulkStep): Script<BulkEffect> {
  const { filter, page, dryRun } = step
  const now = yield* db.time()
  const upTo = step.upTo ?? (yield* highestId())
  const lanes = yield* changing.lanesMatching(filter)
  const scan = yield* scanTasks<{ id: number; error: string | null }>(
    db,
    changing,
    { filter, page, lanes, now },
    sql`t.id, t.error`,
  )
  const ids = scan.rows.map(({ id }) => id).filter((id) => id <= Number(upTo))
  const found = yield* readInOrder(db, ids, dryRun === null ? sql`${db.forUpdate} ${db.skipLocked}` : sql``)
  // Another process may have moved it on before it was locked.
  const started = startedBefore(filter, now)
  const tasks = found.filter(
    (task) =>
      statusNow(task, now) === filter.status && (started === null || (task.startedAt ?? started) < started),
  )
  const choice = yield* chosen(changing, step, tasks)
  const { toDo, refused } = choice
  const answer = {
    changed: toDo.length,
    refused,
    passedOver: ids.length - found.length,
    next: scan.next,
    upTo,
  }
  if (dryRun !== null) return { answer, ended: [], requested: false, freed: false }
  yield* CHANGES[step.change](db, changing, toDo)
  const requested = step.change === 'cancel' ? toDo.filter((task) => task.held) : []
  const ended = step.change === 'retry' ? [] : toDo.filter((task) => !requested.includes(task))
  const freed = toDo.some(({ orderKey }) => orderKey !== null)
  return { answer, ended: ended.map(({ id }) => id), requested: requested.length > 0, freed }
}

/** Of the tasks that a step has found: those to change, and those that cannot be changed. */
interface Choice {
  toDo: ChangedTask[]
  refused: Refusal[]
}

function* chosen(
  changing: ChangingTasks,
  { change, dryRun }: BulkStep,
  tasks: readonly ChangedTask[],
): Script<Choice> {
  if (change === 'retry') return yield* withFreeKeys(changing, tasks, dryRun)
  if (change === 'cancel') {
    const toDo = tasks.filter((task) => ['cancel', 'request'].includes(decideCancel(task)))
    return { toDo, refused: [] }
  }
  const toDo = tasks.filter((task) => decideRemove(task) === 'remove')
  const running = tasks.filter((task) => decideRemove(task) === 'running')
  return { toDo, refused: running.map(({ id }) => ({ id, reason: 'running', by: null })) }
}

/** Of several tasks with one key the first is retried. */
function* withFreeKeys(
  changing: ChangingTasks,
  tasks: readonly ChangedTask[],
  dryRun: BulkStep['dryRun'],
): Script<Choice> {
  const holders = yield* holdersOf(changing, tasks, dryRun === null)
  const taken = dryRun?.taken ?? new Map<string, string>()
  const choice: Choice = { toDo: [], refused: [] }
  for (const task of tasks) {
    const { id, key } = task
    const active = holders.get(key ?? '')
    const holder = active === undefined || active === id ? taken.get(key ?? '') : active
    const decision = decideRetry(task, holder)
    if (typeof decision === 'object') {
      choice.refused.push({ id, reason: 'key-held', by: decision.keyHeldBy })
      continue
    }
    if (key !== null) taken.set(key, id)
    choice.toDo.push(task)
  }
  return choice
}

function* holdersOf(
  { keyHolders }: ChangingTasks,
  tasks: readonly ChangedTask[],
  transaction: boolean,
): Script<Map<string, string>> {
  const keys = [...new Set(tasks.flatMap(({ key }) => (key === null ? [] : [key])))]
  return keys.length === 0 ? new Map() : yield* keyHolders(keys, transaction)
}

type Change = (db: Dialect, changing: ChangingTasks, tasks: readonly ChangedTask[]) => Script<void>

const CHANGES: Record<BulkChange, Change> = {
  retry: requeue,
  *cancel(db, changing, tasks) {
    yield* requestCancel(
      db,
      tasks.filter(({ held }) => held),
    )
    yield* cancelWaiting(
      db,
      changing,
      tasks.filter(({ held }) => !held),
    )
  },
  remove: removeAll,
}

/** From the beginning: all attempts again. A task that crashed runs alone. */
function* requeue(db: Dialect, changing: ChangingTasks, tasks: readonly ChangedTask[]): Script<void> {
  if (tasks.length === 0) return
  const ids = rowidsOf(tasks)
  // An attempt that completed has no row of its own, and the row of the task starts anew.
  yield* change(sql`
    INSERT INTO gleaner.attempts (task, attempt, session, outcome, started_at, finished_at)
    SELECT id, attempts, session, status, started_at, finished_at FROM gleaner.tasks
    WHERE id ${db.oneOf(ids)} AND status = 'completed'`)
  const completed = tasks.filter(({ status }) => status === 'completed')
  yield* removeStepsOf(
    db,
    completed.map(({ rowid }) => String(rowid)),
  )
  const ranks = yield* changing.ranks(tasks, yield* db.time())
  yield* changing.takeOffFinished(tasks)
  yield* change(sql`
    UPDATE gleaner.tasks AS t SET status = 'queued', rank = ${db.valueFor(sql`t.id`, ids, ranks)}, run_after = NULL, attempts = 0, crashes = 0,
      result = NULL, error = NULL, progress = NULL, progress_message = NULL, started_at = NULL, finished_at = NULL,
      ${db.schema.whenRetried} ${db.schema.alsoWhenKeyReturns}
    WHERE t.id ${db.oneOf(ids)}`)
  yield* changing.count(
    tasks.map(({ lane, status }) => ({ lane, counter: status as FinishedStatus, by: -1, arrived: true })),
  )
  yield* freeOrdersOf(changing, tasks)
}

function* freeOrdersOf(changing: ChangingTasks, tasks: readonly ChangedTask[]): Script<void> {
  const keys = tasks.flatMap(({ orderKey }) => (orderKey === null ? [] : [orderKey]))
  if (keys.length > 0) yield* changing.freeOrders(keys)
}

function cancelWaiting(db: Dialect, changing: ChangingTasks, tasks: readonly ChangedTask[]): Script<void> {
  return endWaiting(db, changing, tasks, { status: 'cancelled' })
}

/** How a task ends that no worker holds. */
export type WaitingEnd = { status: 'cancelled' } | { status: 'failed'; failure: Failure }

function* endWaiting(
  db: Dialect,
  changing: ChangingTasks,
  tasks: readonly ChangedTask[],
  end: WaitingEnd,
): Script<void> {
  if (tasks.length === 0) return
  const now = yield* db.time()
  const { status } = end
  const error = end.status === 'failed' ? JSON.stringify(end.failure) : null
  yield* changing.listAsFinished(tasks, { status, finishedAt: now })
  yield* change(sql`
    UPDATE gleaner.tasks SET status = ${status}, finished_at = ${now}, error = coalesce(${error}, error) ${db.schema.alsoWhenFinished}
    WHERE id ${db.oneOf(rowidsOf(tasks))}`)
  const suspended = tasks.filter(({ status }) => status === 'suspended')
  yield* forgetWaits(
    db,
    suspended.map(({ id }) => id),
  )
  const scheduled = tasks.filter(({ status }) => status === 'scheduled')
  yield* changing.count([
    ...tasks.map(({ lane }) => ({ lane, counter: status, by: 1 }) as const),
    ...scheduled.map(({ lane }) => ({ lane, counter: 'scheduled', by: -1 }) as const),
    ...suspended.map(({ lane }) => ({ lane, counter: 'suspended', by: -1 }) as const),
  ])
  yield* freeOrdersOf(changing, tasks)
}

function* requestCancel(db: Dialect, tasks: readonly ChangedTask[]): Script<void> {
  if (tasks.length === 0) return
  yield* change(sql`
    UPDATE gleaner.tasks SET cancel_requested = ${true} WHERE id ${db.oneOf(rowidsOf(tasks))}`)
}

function* removeAll(db: Dialect, changing: ChangingTasks, tasks: readonly ChangedTask[]): Script<void> {
  if (tasks.length === 0) return
  yield* changing.remove(rowidsOf(tasks))
  yield* freeForeverKeys(db, rowidsOf(tasks))
  yield* freeOrdersOf(changing, tasks)
}

/** Answers how many there were. */
function freeForeverKeys(db: Dialect, tasks: readonly number[]): Script<number> {
  return change(sql`DELETE FROM gleaner.forever_keys WHERE task ${db.oneOf(tasks)}`)
}

/** A task that waits for others, and that does not run because of them. Answers it if it is still suspended. */
export function* endSuspended(
  db: Dialect,
  changing: ChangingTasks,
  id: number,
  end: WaitingEnd,
): Script<string[]> {
  const task = yield* lockTask(db, id)
  if (task?.status !== 'suspended') return []
  yield* endWaiting(db, changing, [task], end)
  return [task.id]
}

/** Those among these tasks that are unfinished. `lockedFrom`: the first one that another transaction has locked. */
export function* cancelTasks(
  db: Dialect,
  changing: ChangingTasks,
  ids: readonly number[],
): Script<{ ended: string[]; requested: boolean; lockedFrom: number | null }> {
  const found = yield* readInOrder(db, ids, sql`${db.forUpdate} ${db.skipLocked}`)
  const tasks = found.filter((task) => ['cancel', 'request'].includes(decideCancel(task)))
  yield* CHANGES.cancel(db, changing, tasks)
  const seen = new Set(found.map(({ rowid }) => rowid))
  const unseen = ids.filter((id) => !seen.has(id))
  const there =
    unseen.length === 0
      ? []
      : yield* rows<{ id: number }>(
          sql`SELECT id FROM gleaner.tasks WHERE id ${db.oneOf(unseen)} ORDER BY id`,
        )
  return {
    ended: tasks.filter(({ held }) => !held).map(({ id }) => id),
    requested: tasks.some(({ held }) => held),
    lockedFrom: there[0]?.id ?? null,
  }
}

interface ChangedRow {
  id: number
  lane: number
  priority: number
  status: TaskStatus
  run_after: number | null
  started_at: number | null
  finished_at: number | null
  key: string | null
  order_key: string | null
  held: boolean | number
  cancel_requested: boolean | number
}

const COLUMNS = sql`id, lane, priority, status, run_after, started_at, finished_at, key, order_key, fence IS NOT NULL AS held, cancel_requested`

function* lockTask(db: Dialect, id: number): Script<ChangedTask | undefined> {
  const row = yield* one<ChangedRow>(
    sql`SELECT ${COLUMNS} FROM gleaner.tasks WHERE id = ${id} ${db.forUpdate}`,
  )
  return row && changedTask(row)
}

/** In the order of these ids. A worker locks its tasks in an order of its own, so that waiting for one could be a deadlock. */
function* readInOrder(db: Dialect, ids: readonly number[], lock: Fragment): Script<ChangedTask[]> {
  const found = yield* rows<ChangedRow>(
    sql`SELECT ${COLUMNS} FROM gleaner.tasks WHERE id ${db.oneOf(ids)} ORDER BY id ${lock}`,
  )
  const byId = new Map(found.map((row) => [row.id, row]))
  return ids.flatMap((id) => {
    const row = byId.get(id)
    return row === undefined ? [] : [changedTask(row)]
  })
}

function changedTask(row: ChangedRow): ChangedTask {
  return {
    id: String(row.id),
    rowid: row.id,
    lane: row.lane,
    priority: row.priority,
    status: row.status,
    runAfter: row.run_after,
    startedAt: row.started_at,
    finishedAt: row.finished_at,
    key: row.key,
    orderKey: row.order_key,
    held: Boolean(row.held),
    cancelRequested: Boolean(row.cancel_requested),
  }
}

function statusNow({ status, runAfter }: ChangedTask, now: number): TaskStatus {
  return statusOf({ status, run_after: runAfter }, now)
}

function* highestId(): Script<string> {
  const row = yield* one<{ id: number | null }>(sql`SELECT pg_catalog.max(id) AS id FROM gleaner.tasks`)
  return String(row?.id ?? 0)
}

function rowidsOf(tasks: readonly ChangedTask[]): number[] {
  return tasks.map(({ rowid }) => rowid)
}
