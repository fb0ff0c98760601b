import type { ClaimProof, Exchange, Exchanged, Run } from '../../ports/exchange.ts'
import { decideOutcomes, giveBackUnknown } from '../../scripts/transitions.ts'
import { numberList, type Sql, textList } from '../server/sql.ts'
import { markUseful } from '../sessions/live.ts'
import { answered, ended, lookAgain } from './answer.ts'
import { claimTasks } from './claim.ts'
import { peekWithinLimits, suspectsAmongKeys, unlimited } from './limited-claim.ts'
import { appendLogs } from './logs.ts'
import type { Memory } from './memory.ts'
import { momentOf } from './moment.ts'
import { NO_LANES } from './open-lanes.ts'
import { peek } from './peek.ts'
import { readPreconditions, type TaskPreconditions } from './preconditions.ts'
import { rowid } from './rowid.ts'
import { HELD_AS_GIVEN, noteProgress, noteStarts } from './run-reports.ts'
import { Tally } from './tally.ts'
import { allHeldBy, applyAll, heldAmong } from './transition.ts'
import { advanceVirtualTimes } from './virtual-times.ts'

/** What an exchange changed that others wait for. */
export interface Effect {
  answer: Exchanged
  ended: string[]
  requeued: boolean
  /** Others may wait for tasks that ended. */
  heard: boolean
  /** A process waits for tasks to end. */
  isAwaited: boolean
  /** The life of the server in which what the session holds was compared. */
  comparedIn?: number | null
}

/** In a transaction: hands in what is finished, then takes what is next. `spent`: batches of which nothing is left. */
export async function exchangeTasks(
  sql: Sql,
  memory: Memory,
  exchange: Exchange,
  spent: readonly number[],
  clockMs: number | null,
): Promise<Effect> {
  const { session, holding } = exchange
  const outlook = await readPreconditions(sql, memory, session, exchange.want, { locked: true })
  if (!outlook?.live) {
    memory.usual.note(session, false, false)
    return nothingDone(exchange)
  }
  const now = clockMs ?? outlook.now
  const { limited, life } = outlook
  const isCertain = memory.life.isCompared('tasks', session, life)
  const mayClaim = isCertain || (holding !== undefined && life !== null)
  const want = mayClaim ? exchange.want : null
  const [, settled] = await Promise.all([
    // Before the outcomes: what has ended takes no progress any more.
    noteProgress(sql, exchange, now),
    // The rows of batches may only go when nothing that is believed to be settled can have come back.
    settle(sql, memory, exchange, isCertain ? spent : [], limited, now),
  ])
  await noteUse(sql, memory, exchange, { outlook, settled })
  const { unknown, lost } = await compareHeld(sql, memory, exchange, limited, now)
  // They travel together, in this order: what is free again, the claim may take.
  const [freed, unstarted, , , { claims, opening, hasFreedOrders }] = await Promise.all([
    limited && settled.slots.write(sql),
    noteStarts(sql, exchange, now),
    advanceVirtualTimes(sql, memory.queues, session, memory.weightedEntries.begun(exchange)),
    appendLogs(sql, exchange, now),
    want === null
      ? { claims: [], opening: unlimited(NO_LANES), hasFreedOrders: false }
      : claimTasks(sql, memory, withNews(outlook, settled.freedOrders), session, want, now),
  ])
  const refused = [...settled.refused, ...lost, ...unstarted]
  const requeued = settled.requeued || freed || unknown
  const asked = { ...exchange, want }
  const answer = await answered(sql, memory, asked, claims, refused, outlook, opening, requeued, now)
  if (hasFreedOrders) lookAgain(answer)
  if (!mayClaim) Object.assign(answer, { compare: true, nextDueInMs: 0 })
  return {
    answer,
    ...{ ended: settled.ended, requeued, heard: settled.heard },
    isAwaited: outlook.isAwaited,
    ...(holding === undefined ? {} : { comparedIn: life }),
  }
}

function nothingDone(exchange: Exchange): Effect {
  return { answer: ended(exchange), ended: [], requeued: false, heard: false, isAwaited: false }
}

async function noteUse(
  sql: Sql,
  memory: Memory,
  { session }: Exchange,
  { outlook, settled }: { outlook: TaskPreconditions; settled: { ended: readonly string[] } },
): Promise<void> {
  const isUseful = outlook.useful || settled.ended.length > 0
  if (isUseful && !outlook.useful) await markUseful(sql, session)
  memory.usual.note(session, isUseful && outlook.usual, outlook.alone)
}

function withNews(outlook: TaskPreconditions, freedOrders: boolean): TaskPreconditions {
  return freedOrders ? { ...outlook, hasFreedOrders: true } : outlook
}

/** Without writing: the answer, if there is nothing to take. Null: a transaction is needed. */
export async function precheck(
  sql: Sql,
  memory: Memory,
  exchange: Exchange,
  clockMs: number | null,
): Promise<Exchanged | null> {
  const { session, want } = exchange
  const outlook = await readPreconditions(sql, memory, session, want, { locked: false })
  if (!outlook?.live) return ended(exchange)
  if (!memory.life.isCompared('tasks', session, outlook.life)) return null
  const now = clockMs ?? outlook.now
  if (want === null) return answered(sql, memory, exchange, [], [], outlook, unlimited(NO_LANES), false, now)
  if (outlook.hasFreedOrders) return null
  const opening = outlook.limited
    ? await peekWithinLimits(sql, memory.lanes.limits, outlook.open, now)
    : { ...unlimited(outlook.open), worthIt: false }
  if (opening.worthIt) return null
  const ahead = await peek(sql, memory, opening.lanes, want)
  if (ahead.ready || (want.empty && ahead.suspects) || ahead.nextDueAt <= now) return null
  if (want.empty && (await suspectsAmongKeys(sql, memory, outlook, opening, now))) return null
  return answered(sql, memory, exchange, [], [], outlook, opening, false, now)
}

async function settle(
  sql: Sql,
  memory: Memory,
  { session, outcomes, holding }: Exchange,
  spent: readonly number[],
  limited: boolean,
  now: number,
) {
  const tally = new Tally()
  const others = outcomes.filter(({ outcome }) => outcome.kind !== 'completed')
  const [{ ids: ended, lanes, heard, freed }, held] = await Promise.all([
    completeMany(sql, session, outcomes, spent, limited, now),
    heldAmong(
      sql,
      session,
      others.map(({ id }) => id),
    ),
  ])
  for (const [lane, n] of lanes) tally.slots.freed(lane, n)
  if (holding !== undefined) ended.push(...(await completedBefore(sql, session, outcomes, ended)))
  const done = new Set(ended)
  const refused = outcomes.filter((o) => o.outcome.kind === 'completed' && !done.has(o.id)).map((o) => o.id)
  const heldAs = ({ id, fence }: ClaimProof) => {
    const task = held.get(id)
    return task?.fence === fence ? task : null
  }
  const { decided, ...handedIn } = decideOutcomes(others, heldAs)
  refused.push(...handedIn.refused)
  ended.push(...handedIn.ended)
  const resumed = await applyAll(sql, memory, decided, now, tally)
  await tally.write(sql)
  const freedOrders = freed || tally.hasFreedOrders
  return {
    refused,
    ended,
    heard: heard || handedIn.ended.length > 0,
    requeued: handedIn.requeued || resumed || freedOrders,
    freedOrders,
    slots: tally.slots,
  }
}

/**
 * What only the database knows of goes back: it was claimed in an exchange whose answer never arrived, or its completion was
 * lost. What only the worker knows of is lost: the database has forgotten the claim.
 */
async function compareHeld(
  sql: Sql,
  memory: Memory,
  { session, holding }: Exchange,
  limited: boolean,
  now: number,
): Promise<{ unknown: boolean; lost: string[] }> {
  if (holding === undefined) return { unknown: false, lost: [] }
  const known = new Set(holding)
  const held = await allHeldBy(sql, [session])
  const unknown = giveBackUnknown(held, known)
  const tally = new Tally()
  await applyAll(sql, memory, unknown, now, tally)
  await tally.write(sql)
  if (limited) await tally.slots.write(sql)
  const ours = held.map(({ id }) => id).filter((id) => known.has(id))
  await sql.run('DELETE FROM gleaner.batches WHERE session = $1 AND NOT (tasks && $2::bigint[])', [
    session,
    numberList(ours),
  ])
  const stillOurs = new Set(ours)
  return { unknown: unknown.length > 0, lost: holding.filter((id) => !stillOurs.has(id)) }
}

/** `freed`: another task of an order key may run when a claim has read the outbox. */
interface Completed {
  ids: string[]
  lanes: [lane: number, completed: number][]
  /** Others may wait for tasks that ended. */
  heard: boolean
  freed: boolean
}

interface CompletedRow {
  all: boolean
  ids: string | null
  lanes: [number, number][] | null
  heard: boolean
  freed: boolean
}

/**
 * The usual end, for all at once: proves each claim, frees the task and counts it. Answers those that were ours.
 * `now`: null for the time that the transaction keeps.
 */
export async function completeMany(
  sql: Sql,
  session: string,
  outcomes: Exchange['outcomes'],
  spent: readonly number[],
  limited: boolean,
  now: number | null,
): Promise<Completed> {
  const completed = outcomes.flatMap(({ id, fence, startedAt, outcome }) =>
    outcome.kind === 'completed' ? [{ id, fence, startedAt, result: outcome.result }] : [],
  )
  if (completed.length === 0 && spent.length === 0) return { ids: [], lanes: [], heard: false, freed: false }
  const results = textList(completed.map((run) => run.result))
  // Asked for only by those who have limits: by lane, how many.
  const lanes = limited
    ? '(SELECT pg_catalog.json_agg(pg_catalog.json_build_array(lane, n)) FROM together)'
    : 'NULL::json'
  const answer = await sql.row<CompletedRow>(
    `WITH moment AS MATERIALIZED (SELECT ${momentOf('$1')} AS now), ended AS (
       UPDATE gleaner.tasks SET status = 'completed', fence = NULL, cancel_requested = false, active_key = NULL, leads = NULL,
         started_at = given.started_at, finished_at = (SELECT now FROM moment), result = given.result, error = NULL
       FROM unnest($2::bigint[], $3::bigint[], $4::bigint[], ${results.read('$5')}) given(id, fence, started_at, result)
       WHERE ${HELD_AS_GIVEN} $6 AND (SELECT now FROM moment) IS NOT NULL RETURNING tasks.id, lane, flow, order_key
     ), freed AS (
       INSERT INTO gleaner.order_outbox (key) SELECT order_key FROM ended WHERE order_key IS NOT NULL RETURNING key
     ), together AS (
       SELECT lane, pg_catalog.count(*) AS n, pg_catalog.array_agg(id) AS tasks, pg_catalog.bool_or(flow IS NOT NULL) AS heard
       FROM ended GROUP BY lane
     ), counted AS (
       INSERT INTO gleaner.tallies (lane, completed) SELECT lane, n FROM together
     ), filed AS (
       INSERT INTO gleaner.finished (lane, status, finished_at, tasks) SELECT lane, 'completed', now, tasks FROM together, moment
     ), removed AS (
       DELETE FROM gleaner.batches WHERE fence = ANY($7::bigint[]) AND (SELECT now FROM moment) IS NOT NULL
     ), answer AS (SELECT coalesce(pg_catalog.sum(n), 0)::bigint = pg_catalog.cardinality($2::bigint[]) AS "all",
       coalesce(pg_catalog.bool_or(heard), false) AS heard FROM together)
     SELECT "all", heard, CASE WHEN NOT "all" THEN (SELECT pg_catalog.string_agg(id::text, ',') FROM ended) END AS ids, ${lanes} AS lanes,
            EXISTS (SELECT 1 FROM freed) AS freed
     FROM answer`,
    [
      now,
      numberList(completed.map((run) => rowid(run.id))),
      numberList(completed.map((run) => run.fence)),
      numberList(completed.map((run) => run.startedAt)),
      results.value,
      session,
      numberList(spent),
    ],
  )
  return completedOf(completed, answer!)
}

function completedOf(runs: readonly { id: string }[], { all, ids, ...row }: CompletedRow): Completed {
  return { ...row, ids: all ? runs.map(({ id }) => id) : (ids?.split(',') ?? []), lanes: row.lanes ?? [] }
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

/** For `completeWith`: one task, in the transaction of its effects. Its lane; null: it was not ours. */
export async function complete(
  sql: Sql,
  session: string,
  run: Run,
  result: string | null,
  now: number,
): Promise<{ lane: number; freed: boolean } | null> {
  const outcome = { kind: 'completed', result } as const
  const { ids, lanes, freed } = await completeMany(sql, session, [{ ...run, outcome }], [], true, now)
  return ids.length === 0 ? null : { lane: lanes[0]![0], freed }
}
