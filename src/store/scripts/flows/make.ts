import { TaskGone } from '../../../errors.ts'
import { FLOW_DEPTH_MAX, type FlowKind, type OnFailure } from '../../../model/flow.ts'
import { readRowId } from '../../../model/row.ts'
import type { NewBatch, NewChildren, SpawnAnswer } from '../../ports/flows.ts'
import type { After, Enqueued, NewTask } from '../../ports/new-task.ts'
import type { Dialect } from '../../sql/dialect.ts'
import { change, one, rows, type Script } from '../../sql/script.ts'
import { sql } from '../../sql/sql.ts'
import { rowid, storedKey, storedOrderKey } from '../../task-row.ts'
import { keepStep, provenClaim } from '../steps.ts'
import type { ChangingTasks } from '../task-changes.ts'
import { keepWaits } from '../waits.ts'
import { waitersAbove } from './cycles.ts'

/** Members that one statement writes. */
const CHUNK = 5_000

/** What each database does in its own way when a flow is made. */
export interface MakingFlows extends Pick<ChangingTasks, 'keyHolders'> {
  readonly db: Dialect
  insert(tasks: readonly NewTask[]): Script<Enqueued[]>
}

/** In a transaction. */
export function* spawnChildren(
  making: MakingFlows,
  session: number,
  children: NewChildren,
): Script<SpawnAnswer> {
  const { db } = making
  const { claim, name, number, attempt, startedAt, concurrency, onFailure } = children
  if ((yield* provenClaim(db, session, claim)) === null) return { kind: 'lost' }
  const kept = yield* keptFlow(claim.id, name, number)
  if (kept !== null) return { kind: 'kept', flow: kept }
  const depth = 1 + (yield* depthOf(claim.id))
  if (depth > FLOW_DEPTH_MAX) return { kind: 'too-deep' }
  const cycle = yield* cycleOf(making, claim.id, children.tasks)
  if (cycle !== null) return cycle
  const owner = { kind: 'children', waiter: claim.id, name, number } as const
  const flow = yield* insertFlow(db, { ...owner, onFailure, concurrency, depth })
  const created = yield* insertMembers(making, { flow, tasks: children.tasks, concurrency })
  if (readRowId(claim.id) === null) yield* watchTask(rowid(claim.id))
  const value = String(flow)
  yield* keepStep(db, session, { claim, name, number, kind: 'children', value, attempt, startedAt })
  return { kind: 'spawned', flow: value, created }
}

function* keptFlow(item: string, name: string, number: number): Script<string | null> {
  const step = yield* one<{ value: string }>(sql`
    SELECT value FROM gleaner.steps WHERE item = ${item} AND name = ${name} AND number = ${number} AND kind = 'children'`)
  return step?.value ?? null
}

/** 0: nothing waits for it as its child. */
function* depthOf(item: string): Script<number> {
  if (readRowId(item) !== null) return 0
  const above = yield* one<{ depth: number }>(sql`
    SELECT f.depth FROM gleaner.tasks AS t JOIN gleaner.flows AS f ON f.id = t.flow WHERE t.id = ${rowid(item)}`)
  return above?.depth ?? 0
}

/**
 * A key may name a task that was there before, and that waits for this one. A task that waits for this one may also lead the order of a
 * child.
 */
function* cycleOf(
  { db, keyHolders }: MakingFlows,
  item: string,
  tasks: readonly NewTask[],
): Script<Extract<SpawnAnswer, { kind: 'cycle' | 'too-many' }> | null> {
  if (readRowId(item) !== null) return null
  const keys = [...new Set(tasks.map(storedKey).filter((key) => key !== null))]
  const holders = keys.length === 0 ? [] : [...(yield* keyHolders(keys, true)).values()]
  const orders = tasks.filter(({ orderKey }) => orderKey !== undefined).map(storedOrderKey)
  if (holders.length + orders.length === 0) return null
  const above = yield* waitersAbove(item)
  if (above === null) return { kind: 'too-many' }
  const waiting = new Set([item, ...above].filter((id) => readRowId(id) === null))
  const task = holders.find((id) => waiting.has(id)) ?? (yield* firstInOrder(db, [...waiting], orders))
  return task === null ? null : { kind: 'cycle', task }
}

/** The first of these tasks whose order is one of these. It is unfinished, because it waits. */
function* firstInOrder(
  db: Dialect,
  ids: readonly string[],
  orders: readonly string[],
): Script<string | null> {
  if (orders.length === 0) return null
  const found = yield* rows<{ id: number; order_key: string }>(
    sql`SELECT id, order_key FROM gleaner.tasks WHERE id ${db.oneOf(ids.map(rowid))} AND order_key IS NOT NULL`,
  )
  const known = new Set(orders)
  const first = found.find(({ order_key }) => known.has(order_key))
  return first === undefined ? null : String(first.id)
}

/** What some of these wait for. */
export function awaitedBy(tasks: readonly NewTask[]): string[] {
  return [...new Set(tasks.flatMap(({ after }) => after?.tasks ?? []))]
}

/** In a transaction, ours or a user's own. If a task that they wait for is not there, nothing is written. */
export function* insertAfter(making: MakingFlows, tasks: readonly NewTask[]): Script<Enqueued[]> {
  const awaited = awaitedBy(tasks)
  const gone = yield* firstMissing(making.db, awaited)
  if (gone !== null) throw new TaskGone(gone)
  const answers: Enqueued[] = []
  for (const task of tasks) {
    const { after } = task
    if (after === undefined) answers.push(...(yield* making.insert([task])))
    else answers.push(yield* insertWaiting(making, { ...task, after }))
  }
  return answers
}

function* insertWaiting({ db, insert }: MakingFlows, task: NewTask & { after: After }): Script<Enqueued> {
  const { tasks, onFailure } = task.after
  const ids = tasks.map(rowid)
  const [enqueued] = (yield* insert([{ ...task, flow: 0, suspended: true }])) as [Enqueued]
  // Its key is held: the holder is another task, and waits for nothing.
  if (!enqueued.created) return enqueued
  const waiter = enqueued.id
  const flow = yield* insertFlow(db, {
    kind: 'after',
    waiter,
    name: 'after',
    number: 1,
    onFailure,
    concurrency: null,
    depth: 0,
  })
  yield* join(db, flow, ids)
  yield* change(
    sql`UPDATE gleaner.flows SET total = ${ids.length}, queued = ${ids.length} WHERE id = ${flow}`,
  )
  yield* keepWaits(db, waiter, [{ kind: 'tasks', name: 'after', number: 1, until: null }], yield* db.time())
  return enqueued
}

/** The first one that is not there. */
function* firstMissing(db: Dialect, ids: readonly string[]): Script<string | null> {
  const found = yield* rows<{ id: number }>(
    sql`SELECT id FROM gleaner.tasks WHERE id ${db.oneOf(ids.map(rowid))}`,
  )
  const known = new Set(found.map(({ id }) => id))
  return ids.find((id) => !known.has(rowid(id))) ?? null
}

/** In a transaction. */
export function* insertBatch(making: MakingFlows, batch: NewBatch): Script<number> {
  const { db } = making
  const { name, concurrency } = batch
  const followers = JSON.stringify({ completed: batch.onCompleted, failed: batch.onFailed })
  const flow = yield* insertFlow(db, {
    kind: 'batch',
    waiter: null,
    name,
    number: 1,
    onFailure: 'collect',
    concurrency,
    depth: 0,
  })
  yield* change(sql`UPDATE gleaner.flows SET followers = ${followers} WHERE id = ${flow}`)
  yield* insertMembers(making, { flow, tasks: batch.tasks, concurrency })
  return flow
}

interface NewFlow {
  kind: FlowKind
  waiter: string | null
  name: string
  number: number
  onFailure: OnFailure
  concurrency: number | null
  depth: number
}

function* insertFlow(db: Dialect, flow: NewFlow): Script<number> {
  const { kind, waiter, name, number, onFailure, concurrency, depth } = flow
  const inserted = yield* one<{ id: number }>(sql`
    INSERT INTO gleaner.flows (kind, waiter, name, number, on_failure, concurrency, depth, total, queued, created_at)
    VALUES (${kind}, ${waiter}, ${name}, ${number}, ${onFailure}, ${concurrency}, ${depth}, 0, 0, ${db.now}) RETURNING id`)
  return inserted!.id
}

interface NewMembers {
  flow: number
  tasks: readonly NewTask[]
  concurrency: number | null
}

/** Beyond its `concurrency` they are kept back: suspended, until others have ended. Answers how many were enqueued. */
function* insertMembers(
  { db, insert }: MakingFlows,
  { flow, tasks, concurrency }: NewMembers,
): Script<number> {
  const queued = concurrency ?? tasks.length
  const enqueued = yield* insert(inFlow(tasks, flow, queued))
  const own = enqueued.flatMap(({ id, created }, position) =>
    created ? [{ task: Number(id), position, held: position < queued ? 0 : 1 }] : [],
  )
  for (let from = 0; from < own.length; from += CHUNK) {
    const some = own.slice(from, from + CHUNK)
    yield* insertOwn(db, flow, some)
    yield* keepTurns(db, flow, some)
  }
  const joined = [...new Set(enqueued.flatMap(({ id, created }) => (created ? [] : [id])))]
  const others = joined.filter((id) => !own.some(({ task }) => String(task) === id))
  if (others.length > 0) yield* join(db, flow, others.map(Number), own.length)
  const total = own.length + others.length
  const held = own.filter((member) => member.held === 1).length
  yield* change(sql`UPDATE gleaner.flows SET total = ${total}, queued = ${total - held} WHERE id = ${flow}`)
  return own.length
}

/** Marks the tasks themselves: ten thousand copies would cost a fifth of the call. */
function inFlow(tasks: readonly NewTask[], flow: number, queued: number): readonly NewTask[] {
  for (const [place, task] of tasks.entries()) {
    task.flow = flow
    if (place >= queued) task.suspended = true
  }
  return tasks
}

interface OwnMember {
  task: number
  position: number
  held: number
}

/** What those wait for that are kept back. */
function* keepTurns(db: Dialect, flow: number, members: readonly OwnMember[]): Script<void> {
  const held = members.filter((member) => member.held === 1)
  if (held.length === 0) return
  yield* change(sql`
    INSERT INTO gleaner.waits (item, kind, name, number, task, since)
    SELECT CAST(one.task AS text), 'turn', CAST(${String(flow)} AS text), 1, one.task, ${db.now}
    FROM ${db.given('one', [{ name: 'task', type: 'bigint', values: held.map(({ task }) => task) }])}`)
}

function insertOwn(db: Dialect, flow: number, members: readonly OwnMember[]): Script<number> {
  return change(sql`
    INSERT INTO gleaner.flow_members (flow, task, position, held)
    SELECT CAST(${flow} AS bigint), one.task, one.position, one.held FROM ${db.given('one', [
      { name: 'task', type: 'bigint', values: members.map(({ task }) => task) },
      { name: 'position', type: 'integer', values: members.map(({ position }) => position) },
      { name: 'held', type: 'integer', values: members.map(({ held }) => held) },
    ])}`)
}

/** Tasks that were there before the flow. They may end at any moment, or have ended: each is looked at once after the commit. */
function* join(db: Dialect, flow: number, ids: readonly number[], from = 0): Script<void> {
  yield* change(sql`
    INSERT INTO gleaner.flow_members (flow, task, position, joined)
    SELECT CAST(${flow} AS bigint), one.task, one.position, 1 FROM ${db.given('one', [
      { name: 'task', type: 'bigint', values: ids },
      { name: 'position', type: 'integer', values: ids.map((_, i) => from + i) },
    ])}`)
  for (const id of [...ids].sort((a, b) => a - b)) yield* watchTask(id)
  yield* change(sql`
    INSERT INTO gleaner.flow_news (task, flow)
    SELECT one.task, 0 FROM ${db.given('one', [{ name: 'task', type: 'bigint', values: ids }])}`)
}

/** From now on its end is told. */
export function watchTask(id: number): Script<number> {
  return change(sql`UPDATE gleaner.tasks SET flow = 0 WHERE id = ${id} AND flow IS NULL`)
}
