import type { Claim, ClaimRequest, Exchange, Exchanged } from '../../ports/exchange.ts'
import type { Database } from '../server/database.ts'
import type { TransactionOptions } from '../server/settings.ts'
import type { Sql } from '../server/sql.ts'
import { READY } from '../waiting/conditions.ts'
import { answered, lookAgain } from './answer.ts'
import { claimOf, startedOf, walkOf } from './claim.ts'
import { completeMany, type Effect } from './exchange.ts'
import { unlimited } from './limited-claim.ts'
import { appendLogs } from './logs.ts'
import type { Memory } from './memory.ts'
import { NO_LANES, type OpenLanes } from './open-lanes.ts'
import { checkAsKnown, type TaskPreconditions } from './preconditions.ts'
import { type ClaimRoute, claimRouteOf, isWhole, noteTurn } from './route.ts'
import { noteProgress, noteStarts } from './run-reports.ts'
import { type ClaimedTaskRow, take } from './take.ts'
import { advanceVirtualTimes } from './virtual-times.ts'

/** So many that are handed in together are worth a connection of their own. */
const APART_MIN = 100

/** An exchange that can be made in one round trip, or in two. */
interface Plan {
  exchange: Exchange
  /** Outcomes that are no completions. They are decided task by task, in a transaction that follows. */
  decided: Exchange['outcomes']
  spent: readonly number[]
  clockMs: number | null
  claiming: Claiming | null
}

interface Claiming {
  want: ClaimRequest
  open: OpenLanes
  route: ClaimRoute
}

interface Claimed {
  outlook: TaskPreconditions
  rows: ClaimedTaskRow[]
  claims: Claim[]
}

/** Completed tasks, and what was refused: completions and starts of tasks that are not ours any more. */
interface HandedIn {
  ended: string[]
  refused: string[]
  /** Others may wait for tasks that ended. */
  heard: boolean
  /** Another task of an order key may run. */
  freed: boolean
}

/** What a round trip did, or two; null: something has changed, and it did nothing. */
type Made = [claimed: Claimed | null, handedIn: HandedIn | null]

/**
 * The same as `exchangeTasks`, in one round trip to the server instead of one for each statement: while it is on its way
 * the server has nothing to do. It is asked for as if nothing had changed since the last time, and does nothing if
 * something has; `stepByStep` does it then. Outcomes that are no completions follow step by step, too. Where much is handed
 * in there are two round trips at the same time, one that claims and one that hands in: neither touches what the other does,
 * and the server has more than one processor. Not where others work, too: it has enough to do at the same time then.
 */
export async function exchangePlainly(
  database: Database,
  memory: Memory,
  exchange: Exchange,
  spent: readonly number[],
  clockMs: number | null,
  options: TransactionOptions,
  stepByStep: (exchange: Exchange, spent: readonly number[]) => Promise<Effect>,
): Promise<Effect> {
  const plan = planOf(memory, exchange, spent, clockMs)
  if (plan === null) return stepByStep(exchange, spent)
  const { claiming, decided } = plan
  const isApart =
    claiming !== null && exchange.outcomes.length >= APART_MIN && memory.usual.isAlone(exchange.session)
  const make = isApart ? inTwoJourneys : inOneJourney
  const [claimed, handedIn] = await make(database, memory, plan, options)
  if (claimed === null && handedIn === null) return stepByStep(exchange, spent)

  const isOver = claimed !== null && handedIn !== null && decided.length === 0
  const rest = isOver ? null : await stepByStep(...restOf(plan, claimed, handedIn))
  const answer = claimed === null ? rest!.answer : await answerOf(database, memory, plan, claimed)
  const freed = handedIn?.freed ?? false
  if (freed && exchange.want !== null) lookAgain(answer, 0)
  return {
    answer: {
      ...answer,
      refused: [...(handedIn?.refused ?? []), ...(rest?.answer.refused ?? [])],
      sessionEnded: rest?.answer.sessionEnded ?? false,
    },
    ended: [...(handedIn?.ended ?? []), ...(rest?.ended ?? [])],
    requeued: freed || (rest?.requeued ?? false),
    heard: handedIn?.heard || rest?.heard || false,
    isAwaited: claimed?.outlook.isAwaited || rest?.isAwaited || false,
  }
}

/** What is still to be done. Batches go with the last of their tasks, so that no task is out of reach in between. */
function restOf(
  { exchange, decided, spent }: Plan,
  claimed: Claimed | null,
  handedIn: HandedIn | null,
): [exchange: Exchange, spent: readonly number[]] {
  const want = claimed === null ? exchange.want : null
  if (handedIn === null) return [{ ...exchange, want }, spent]
  const reported = { outcomes: decided, starts: [], progress: [], logs: [] }
  return [{ ...exchange, ...reported, want }, decided.length > 0 ? spent : []]
}

/** Null: it must be asked for step by step. */
function planOf(
  memory: Memory,
  exchange: Exchange,
  spent: readonly number[],
  clockMs: number | null,
): Plan | null {
  const { queues } = memory
  if (!memory.usual.has(exchange.session) || exchange.holding !== undefined) return null
  if (queues.version === undefined) return null
  const decided = exchange.outcomes.filter(({ outcome }) => outcome.kind !== 'completed')
  if (exchange.want === null) return { exchange, decided, spent, clockMs, claiming: null }
  const claiming = claimingOf(memory, exchange.want)
  return claiming && { exchange, decided, spent, clockMs, claiming }
}

function claimingOf(memory: Memory, want: ClaimRequest): Claiming | null {
  // Another order than the stored one is read step by step.
  if (want.able.orders !== undefined) return null
  const open = memory.lanes.open(want.able)
  if (open.lanes.length === 0) return null
  const route = claimRouteOf(memory, want, open)
  // To look everywhere takes a second walk.
  return want.thorough && !isWhole(route) ? null : { want, open, route }
}

/** The claim goes first: what it answers is read while the server is still busy with what was handed in. */
async function inOneJourney(
  database: Database,
  memory: Memory,
  plan: Plan,
  options: TransactionOptions,
): Promise<Made> {
  return database.together(async (sql) => {
    const [outlook, taken, handedIn] = await Promise.all([
      look(sql, memory, plan),
      claim(sql, memory, plan),
      handIn(sql, plan),
    ])
    return outlook === null ? [null, null] : [{ outlook, ...taken }, handedIn]
  }, options)
}

/** Each looks for itself. Should one fail, the other is over, too, when that is told: nobody looks for what is still on its way. */
async function inTwoJourneys(
  database: Database,
  memory: Memory,
  plan: Plan,
  options: TransactionOptions,
): Promise<Made> {
  const claiming = database.together(async (sql) => {
    const [outlook, taken] = await Promise.all([look(sql, memory, plan), claim(sql, memory, plan)])
    return outlook === null ? null : { outlook, ...taken }
  }, options)
  const handingIn = database.together(async (sql) => {
    const [outlook, handedIn] = await Promise.all([look(sql, memory, plan), handIn(sql, plan)])
    return outlook === null ? null : handedIn
  }, options)
  await Promise.allSettled([claiming, handingIn])
  return Promise.all([claiming, handingIn])
}

function look(
  sql: Sql,
  memory: Memory,
  { exchange, claiming, clockMs }: Plan,
): Promise<TaskPreconditions | null> {
  return checkAsKnown(sql, memory, exchange.session, claiming?.open ?? NO_LANES, clockMs)
}

async function claim(
  sql: Sql,
  memory: Memory,
  { exchange: { session }, claiming }: Plan,
): Promise<Omit<Claimed, 'outlook'>> {
  if (claiming === null) return { rows: [], claims: [] }
  const { want, route } = claiming
  const rows = await take(sql, READY, route, { session, want, now: null }, want.start + want.ahead)
  return { rows, claims: claimsOf(memory, claiming, rows) }
}

/** Progress goes before the completions, which end it. All statements leave together. */
async function handIn(sql: Sql, { exchange, decided, spent }: Plan): Promise<HandedIn> {
  const { session, outcomes } = exchange
  const [, { ids: ended, heard, freed }, unstarted] = await Promise.all([
    noteProgress(sql, exchange, null),
    completeMany(sql, session, outcomes, decided.length > 0 ? [] : spent, false, null),
    noteStarts(sql, exchange, null),
    appendLogs(sql, exchange, null),
  ])
  const completed = outcomes.filter(({ outcome }) => outcome.kind === 'completed')
  return { ended, refused: [...missing(completed, ended), ...unstarted], heard, freed }
}

function claimsOf(memory: Memory, { want, open }: Claiming, rows: readonly ClaimedTaskRow[]): Claim[] {
  noteTurn(
    memory,
    want,
    open,
    rows.map(({ lane }) => open.lane(lane)!),
  )
  return rows.map((row) => claimOf(open.lane(row.lane)!, row))
}

async function answerOf(
  database: Database,
  memory: Memory,
  { exchange, claiming, clockMs }: Plan,
  { outlook, rows, claims }: Claimed,
): Promise<Exchanged> {
  const { entriesBefore, now, alone } = outlook
  memory.usual.note(exchange.session, true, alone)
  if (claiming !== null) {
    const { open, route } = claiming
    memory.lowWater.walked(route.path, walkOf(open, route, rows, entriesBefore))
  }
  if (memory.queues.hasWeighted) await moveRacesOn(database, memory, exchange, claiming, rows)
  const opening = unlimited(claiming?.open ?? NO_LANES)
  const time = clockMs ?? now
  const { between } = database
  const answer = await answered(between, memory, exchange, claims, [], outlook, opening, false, time)
  return { ...answer, unlimited: true }
}

/** After the commit: if it is lost, the next start makes up for it. */
async function moveRacesOn(
  { between }: Database,
  memory: Memory,
  exchange: Exchange,
  claiming: Claiming | null,
  rows: readonly ClaimedTaskRow[],
): Promise<void> {
  const begun = memory.weightedEntries.begun(exchange)
  const laneOf = (lane: number) => claiming!.open.lane(lane)!
  const started = [...begun, ...startedOf(memory, rows, laneOf)]
  await advanceVirtualTimes(between, memory.queues, exchange.session, started)
}

function missing(outcomes: Exchange['outcomes'], settled: readonly string[]): string[] {
  if (settled.length === outcomes.length) return []
  const done = new Set(settled)
  return outcomes.map(({ id }) => id).filter((id) => !done.has(id))
}
