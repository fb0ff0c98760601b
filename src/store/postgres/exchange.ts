import { decide } from '../../model/outcome.ts'
import type { Claim, Exchange, Exchanged, Run, Want } from '../contract.ts'
import { claimTasks, lookAhead, type Open, openLanes } from './claim.ts'
import type { LaneBook } from './lanes.ts'
import { appendLogs } from './logs.ts'
import type { LowWater } from './low-water.ts'
import { liveUntilCommit, markUseful } from './sessions.ts'
import type { Sql } from './sql.ts'
import { Tally } from './tally.ts'
import { rowid } from './task-records.ts'
import { allHeldBy, apply, heldBy } from './transition.ts'

/** Others are just taking what there is: look again soon, for they may leave some of it. */
const LOCKED_AGAIN_MS = 5

const NONE: Open = { lanes: [], entriesBefore: 0 }

/** What an exchange changed that others wait for. */
export interface Effect {
  answer: Exchanged
  ended: string[]
  requeued: boolean
}

/** In a transaction: hands in what is finished, then takes what is next. */
export async function exchangeTasks(
  sql: Sql,
  lanes: LaneBook,
  lowWater: LowWater,
  exchange: Exchange,
  clockMs: number | null,
): Promise<Effect> {
  const { session, want } = exchange
  const moment = await liveUntilCommit(sql, session)
  if (!moment.live) return { answer: ended(exchange), ended: [], requeued: false }
  const now = clockMs ?? moment.now
  const settled = await settle(sql, exchange, now)
  const unknown = await handBackUnknown(sql, exchange, now)
  const refused = [...settled.refused, ...(await noteStarts(sql, exchange))]
  await noteProgress(sql, exchange)
  await appendLogs(sql, exchange)

  const open = want === null ? NONE : await openLanes(sql, lanes, want)
  const claims = want === null ? [] : await claimTasks(sql, lanes, open, lowWater, session, want, now)
  const answer = await answered(sql, session, claims, refused, want, open, lowWater, now)
  return { answer, ended: settled.ended, requeued: settled.requeued || unknown }
}

/** Without writing: the answer, if there is nothing to take. Null: a transaction is needed. */
export async function lookOnly(
  sql: Sql,
  lanes: LaneBook,
  lowWater: LowWater,
  exchange: Exchange,
  clockMs: number | null,
): Promise<Exchanged | null> {
  const { session, want } = exchange
  const row = await sql.row<{ now: number }>(
    'SELECT gleaner.now_ms() AS now FROM gleaner.sessions WHERE id = $1 AND ended_at IS NULL',
    [session],
  )
  if (row === undefined) return ended(exchange)
  const now = clockMs ?? row.now
  const open = want === null ? NONE : await openLanes(sql, lanes, want)
  if (want !== null) {
    const ahead = await lookAhead(sql, open, lowWater, want.thorough)
    if (ahead.ready || (want.empty && ahead.suspects) || ahead.nextDueAt <= now) return null
  }
  return answered(sql, session, [], [], want, open, lowWater, now)
}

async function settle(sql: Sql, exchange: Exchange, now: number) {
  const { session, outcomes } = exchange
  const tally = new Tally()
  const ended = await completeMany(sql, session, outcomes, now, tally)
  if (exchange.holding !== undefined) ended.push(...(await completedBefore(sql, session, outcomes, ended)))
  const done = new Set(ended)
  const refused = outcomes.filter((o) => o.outcome.kind === 'completed' && !done.has(o.id)).map((o) => o.id)
  let requeued = false
  for (const { id, fence, outcome, startedAt } of outcomes) {
    if (outcome.kind === 'completed') continue
    const task = await heldBy(sql, session, rowid(id), fence)
    if (task === null) {
      refused.push(id)
      continue
    }
    // A start that was not yet written down is known now; what is handed back unstarted has none.
    if (outcome.kind !== 'returned')
      Object.assign(task, { started: true, startedAt: task.startedAt ?? startedAt })
    const transition = decide(task, outcome)
    await apply(sql, task, transition, now, tally)
    if (transition.to === 'waiting') requeued = true
    else ended.push(id)
  }
  await tally.write(sql)
  if (ended.length > 0) await markUseful(sql, session)
  return { refused, ended, requeued }
}

/** What an exchange claimed whose answer never arrived. */
async function handBackUnknown(sql: Sql, { session, holding }: Exchange, now: number): Promise<boolean> {
  if (holding === undefined) return false
  const known = new Set(holding)
  const unknown = (await allHeldBy(sql, [session])).filter((task) => !known.has(task.id))
  const tally = new Tally()
  for (const task of unknown) {
    await apply(sql, task, decide({ ...task, started: false }, { kind: 'returned' }), now, tally)
  }
  await tally.write(sql)
  return unknown.length > 0
}

/** The usual end, for all at once: proves each claim, and frees the task. Answers those that were ours. */
async function completeMany(
  sql: Sql,
  session: string,
  outcomes: Exchange['outcomes'],
  now: number,
  tally: Tally,
): Promise<string[]> {
  const completed = outcomes.flatMap(({ id, fence, startedAt, outcome }) =>
    outcome.kind === 'completed' ? [{ id, fence, startedAt, result: outcome.result }] : [],
  )
  if (completed.length === 0) return []
  const rows = await sql.rows<{ id: string; lane: number }>(
    `UPDATE gleaner.tasks SET status = 'completed', fence = NULL, cancel_requested = false,
       started_at = done.started_at, finished_at = $1, result = done.result, error = NULL
     FROM unnest($2::bigint[], $3::bigint[], $4::bigint[], $5::text[]) done(id, fence, started_at, result)
     WHERE tasks.id = done.id AND tasks.fence = done.fence AND tasks.session = $6
     RETURNING tasks.id::text AS id, lane`,
    [
      now,
      completed.map((run) => rowid(run.id)),
      completed.map((run) => run.fence),
      completed.map((run) => run.startedAt),
      completed.map((run) => run.result),
      session,
    ],
  )
  for (const { lane } of rows) tally.add(lane, 'completed', 1)
  return rows.map((row) => row.id)
}

/** What was handed in before, in an exchange whose answer never arrived: it is done, and nobody took it from us. */
async function completedBefore(
  sql: Sql,
  session: string,
  outcomes: Exchange['outcomes'],
  ended: readonly string[],
): Promise<string[]> {
  const unsure = outcomes.filter(({ id, outcome }) => outcome.kind === 'completed' && !ended.includes(id))
  if (unsure.length === 0) return []
  const rows = await sql.rows<{ id: string }>(
    `SELECT tasks.id::text AS id FROM gleaner.tasks
     JOIN unnest($1::bigint[], $2::bigint[]) run(id, started_at) USING (id, started_at)
     WHERE session = $3 AND status = 'completed'`,
    [unsure.map((run) => rowid(run.id)), unsure.map((run) => run.startedAt), session],
  )
  return rows.map((row) => row.id)
}

/** For `completeWith`: one task, in the transaction of its effects. */
export async function complete(
  sql: Sql,
  session: string,
  run: Run,
  result: string | null,
  now: number,
): Promise<boolean> {
  const tally = new Tally()
  const outcome = { kind: 'completed', result } as const
  const ended = await completeMany(sql, session, [{ ...run, outcome }], now, tally)
  await tally.write(sql)
  return ended.length > 0
}

async function noteStarts(sql: Sql, { session, starts }: Exchange): Promise<string[]> {
  if (starts.length === 0) return []
  const rows = await sql.rows<{ id: string }>(
    `UPDATE gleaner.tasks SET status = 'running', started_at = s.started_at
     FROM unnest($1::bigint[], $2::bigint[], $3::bigint[]) s(id, fence, started_at)
     WHERE tasks.id = s.id AND tasks.fence = s.fence AND tasks.session = $4 RETURNING tasks.id::text AS id`,
    [
      starts.map((run) => rowid(run.id)),
      starts.map((run) => run.fence),
      starts.map((run) => run.startedAt),
      session,
    ],
  )
  const noted = new Set(rows.map((row) => row.id))
  return starts.filter((run) => !noted.has(run.id)).map((run) => run.id)
}

async function noteProgress(sql: Sql, { session, progress }: Exchange): Promise<void> {
  if (progress.length === 0) return
  await sql.run(
    `UPDATE gleaner.tasks SET progress = p.fraction, progress_message = p.message
     FROM unnest($1::bigint[], $2::bigint[], $3::float8[], $4::text[]) p(id, fence, fraction, message)
     WHERE tasks.id = p.id AND tasks.fence = p.fence AND tasks.session = $5`,
    [
      progress.map((p) => rowid(p.id)),
      progress.map((p) => p.fence),
      progress.map((p) => p.fraction),
      progress.map((p) => p.message),
      session,
    ],
  )
}

async function answered(
  sql: Sql,
  session: string,
  claims: Claim[],
  refused: string[],
  want: Want | null,
  open: Open,
  lowWater: LowWater,
  now: number,
): Promise<Exchanged> {
  const cancels = await sql.rows<{ id: string }>(
    'SELECT id::text AS id FROM gleaner.tasks WHERE session = $1 AND cancel_requested AND fence IS NOT NULL',
    [session],
  )
  const satisfied = want === null || claims.length >= want.start
  const ahead = satisfied && want?.empty !== false ? null : await lookAhead(sql, open, lowWater)
  return {
    claims,
    refused,
    cancels: cancels.map((row) => row.id),
    sessionEnded: false,
    suspectsWaiting: want !== null && !want.empty && ahead?.suspects === true,
    nextDueInMs: satisfied || ahead === null ? null : lookAgainInMs(ahead, lowWater, now),
  }
}

/** When it is worth while to ask again, should nobody wake us; null: never. */
function lookAgainInMs(
  ahead: Awaited<ReturnType<typeof lookAhead>>,
  lowWater: LowWater,
  now: number,
): number | null {
  if (ahead.ready) return LOCKED_AGAIN_MS
  const dueInMs = Math.max(0, ahead.nextDueAt - now)
  const walkInMs = lowWater.walkAgainInMs() || Number.POSITIVE_INFINITY
  const soonest = Math.min(dueInMs, walkInMs)
  return soonest === Number.POSITIVE_INFINITY ? null : soonest
}

function ended(exchange: Exchange): Exchanged {
  const refused = [...exchange.outcomes, ...exchange.starts].map((proof) => proof.id)
  return { claims: [], refused, cancels: [], sessionEnded: true, suspectsWaiting: false, nextDueInMs: null }
}
