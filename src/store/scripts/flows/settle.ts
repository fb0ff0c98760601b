import {
  decideFlow,
  endsChildren,
  type MemberStatus,
  roomFor,
  unfinishedIn,
  unsuccessfulOf,
} from '../../../model/flow.ts'
import type { TaskStatus } from '../../../model/task.ts'
import type { Dialect } from '../../sql/dialect.ts'
import { change, rows, type Script } from '../../sql/script.ts'
import { sql } from '../../sql/sql.ts'
import { FLOW, type FlowRow } from '../flow-row.ts'
import { resumeItems } from '../waits.ts'
import { cancelMembers, forgetFlow } from './cancel.ts'
import { type Followed, followBatch } from './follow.ts'
import type { SettleEffect, SettlingFlows } from './settling.ts'
import { endWaiter } from './waiter.ts'

/** Ends that one transaction hears of. */
const NEWS_MAX = 1_000

interface News {
  task: number | null
  flow: number | null
}

/** In a transaction. Each end is looked at after it was committed, so it does not matter how often, or in which order. */
export function* settleFlows(settling: SettlingFlows): Script<SettleEffect> {
  const { db } = settling
  const effect: SettleEffect = { more: false, ended: [], queued: false, requested: false }
  const news = yield* takeNews(db)
  effect.more = news.length === NEWS_MAX
  const tasks = [...new Set(news.flatMap(({ task }) => (task === null ? [] : [task])))]
  const members = yield* lockMembers(db, news, tasks)
  const states = yield* statesOf(db, tasks)
  for (const flow of yield* countEnds(db, members, states)) yield* goOn(settling, flow, effect)
  yield* endOwners(db, tasks, states)
  yield* dropFlows(db, news)
  yield* cancelMembers(settling, effect)
  // What ended now may be waited for, too.
  if (effect.ended.length > 0) effect.more = true
  return effect
}

/** Another process hears of those that it has taken. */
function takeNews(db: Dialect): Script<News[]> {
  return rows<News>(sql`
    DELETE FROM gleaner.flow_news WHERE id IN (
      SELECT id FROM gleaner.flow_news ORDER BY id LIMIT ${NEWS_MAX} ${db.forUpdate} ${db.skipLocked})
    RETURNING task, flow`)
}

interface Member {
  flow: number
  task: number
  held: number
  counted: MemberStatus | null
  status: MemberStatus | null
}

/** The places of these tasks in all their flows. Locked before their states are read, so that the last look sees the last state. */
function* lockMembers(db: Dialect, news: readonly News[], tasks: readonly number[]): Script<Member[]> {
  const own: Member[] = []
  const born = news.filter(({ task, flow }) => task !== null && (flow ?? 0) > 0)
  for (const [flow, some] of [...Map.groupBy(born, (one) => one.flow!)].sort(([a], [b]) => a - b))
    own.push(
      ...(yield* rows<Member>(sql`
        SELECT flow, task, held, counted, status FROM gleaner.flow_members
        WHERE flow = ${flow} AND task ${db.oneOf(some.map(({ task }) => task!))} ORDER BY task ${db.forUpdate}`)),
    )
  const joined = yield* rows<Member>(sql`
    SELECT flow, task, held, counted, status FROM gleaner.flow_members WHERE task ${db.oneOf(tasks)} AND joined = 1
    ORDER BY flow, task ${db.forUpdate}`)
  const seen = new Map([...own, ...joined].map((member) => [`${member.flow} ${member.task}`, member]))
  return [...seen.values()]
}

/** The status of each task; one that is gone is left out. */
function* statesOf(db: Dialect, tasks: readonly number[]): Script<Map<number, TaskStatus>> {
  if (tasks.length === 0) return new Map()
  const found = yield* rows<{ id: number; status: TaskStatus }>(
    sql`SELECT id, status FROM gleaner.tasks WHERE id ${db.oneOf(tasks)}`,
  )
  return new Map(found.map(({ id, status }) => [id, status]))
}

/** What a flow counts a task as. Null: unfinished. */
function standingOf(member: Member, states: ReadonlyMap<number, TaskStatus>): MemberStatus | null {
  const status = states.get(member.task)
  if (status === undefined) return member.status ?? 'removed'
  return status === 'completed' || status === 'failed' || status === 'cancelled' ? status : null
}

type Deltas = Record<MemberStatus | 'queued', number>

/** Answers the flows with their new counts, in one order, so that no two of these wait for each other. */
function* countEnds(
  db: Dialect,
  members: readonly Member[],
  states: ReadonlyMap<number, TaskStatus>,
): Script<FlowRow[]> {
  const deltas = new Map<number, Deltas>()
  const changed = new Map<MemberStatus | null, Member[]>()
  for (const member of members) {
    const delta = deltas.get(member.flow) ?? { completed: 0, failed: 0, cancelled: 0, removed: 0, queued: 0 }
    deltas.set(member.flow, delta)
    const standing = standingOf(member, states)
    if (standing === member.counted) continue
    if (member.counted !== null) delta[member.counted] -= 1
    if (standing !== null) delta[standing] += 1
    // It ended while it was kept back: it takes no place any more.
    if (standing !== null && member.held === 1) delta.queued += 1
    const alike = changed.get(standing)
    if (alike === undefined) changed.set(standing, [member])
    else alike.push(member)
  }
  for (const [standing, some] of changed) yield* noteCounted(db, standing, some)
  const flows: FlowRow[] = []
  for (const [id, delta] of [...deltas].sort(([a], [b]) => a - b)) flows.push(...(yield* addTo(id, delta)))
  return flows
}

function* noteCounted(db: Dialect, standing: MemberStatus | null, members: readonly Member[]): Script<void> {
  const free = standing === null ? sql`` : sql`, held = 0`
  for (const [flow, some] of Map.groupBy(members, (member) => member.flow))
    yield* change(sql`
      UPDATE gleaner.flow_members SET counted = ${standing} ${free}
      WHERE flow = ${flow} AND task ${db.oneOf(some.map(({ task }) => task))}`)
}

function addTo(id: number, delta: Deltas): Script<FlowRow[]> {
  return rows<FlowRow>(sql`
    UPDATE gleaner.flows AS f SET completed = completed + ${delta.completed}, failed = failed + ${delta.failed},
      cancelled = cancelled + ${delta.cancelled}, removed = removed + ${delta.removed}, queued = queued + ${delta.queued}
    WHERE f.id = ${id} RETURNING ${FLOW}`)
}

/** What follows for the one that waits, and for those that are kept back. */
function* goOn(settling: SettlingFlows, flow: FlowRow, effect: SettleEffect): Script<void> {
  if (yield* release(settling, flow)) effect.queued = true
  if (flow.kind === 'batch') {
    const followed: Followed = yield* followBatch(settling, flow)
    if (followed.enqueued) effect.queued = true
    return
  }
  if (flow.waiter === null || flow.resolved_at !== null) return
  const decision = decideFlow({ ...flow, onFailure: flow.on_failure })
  if (decision === 'wait') return
  const { db, resuming } = settling
  yield* change(sql`UPDATE gleaner.flows SET resolved_at = ${db.now} WHERE id = ${flow.id}`)
  if (decision === 'go-on') {
    const resumed = yield* resumeItems(db, resuming, [flow.waiter])
    if (resumed.length > 0) effect.queued = true
  } else effect.ended.push(...(yield* endWaiter(settling, flow, decision)))
}

/** As many are queued as have ended. */
function* release({ db, resuming }: SettlingFlows, flow: FlowRow): Script<boolean> {
  const ended = flow.completed + unsuccessfulOf(flow)
  const room = roomFor(flow.concurrency, flow.queued, ended)
  if (room === 0 || unfinishedIn(flow) === 0) return false
  const next = yield* rows<{ task: number }>(sql`
    SELECT task FROM gleaner.flow_members WHERE flow = ${flow.id} AND held = 1 ORDER BY task LIMIT ${room} ${db.forUpdate}`)
  if (next.length === 0) return false
  const tasks = next.map(({ task }) => task)
  yield* change(
    sql`UPDATE gleaner.flow_members SET held = 0 WHERE flow = ${flow.id} AND task ${db.oneOf(tasks)}`,
  )
  yield* change(sql`UPDATE gleaner.flows SET queued = queued + ${tasks.length} WHERE id = ${flow.id}`)
  yield* resumeItems(db, resuming, tasks.map(String))
  return true
}

/** A task that ended needs its unfinished children no more, unless it failed: it may be retried. */
function* endOwners(
  db: Dialect,
  tasks: readonly number[],
  states: ReadonlyMap<number, TaskStatus>,
): Script<void> {
  const over = tasks.filter((task) => {
    const status = states.get(task)
    if (status === undefined) return true
    return (status === 'completed' || status === 'cancelled') && endsChildren(status)
  })
  if (over.length === 0) return
  yield* change(sql`
    UPDATE gleaner.flows SET done = 1, cancelling = CASE WHEN kind = 'children' THEN coalesce(cancelling, 0) ELSE cancelling END
    WHERE waiter ${db.oneOf(over.map(String))} AND done = 0`)
  const gone = over.filter((task) => !states.has(task))
  if (gone.length === 0) return
  const owned = yield* rows<{ id: number }>(sql`
    SELECT id FROM gleaner.flows WHERE waiter ${db.oneOf(gone.map(String))} AND kind <> 'children' ORDER BY id`)
  for (const { id } of owned) yield* forgetFlow(id)
}

/** The step that waited for it is gone, and so is who could read its results. */
function* dropFlows(db: Dialect, news: readonly News[]): Script<void> {
  const dropped = news.flatMap(({ task, flow }) => (task === null && flow !== null ? [flow] : []))
  if (dropped.length === 0) return
  yield* change(sql`
    UPDATE gleaner.flows SET dropped = ${true}, done = 1, cancelling = coalesce(cancelling, 0) WHERE id ${db.oneOf(dropped)}`)
}
