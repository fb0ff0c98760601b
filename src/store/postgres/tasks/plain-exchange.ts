import type { Claim, Exchange, Exchanged, Want } from '../../contract.ts'
import type { Lane } from '../../lane.ts'
import { unlimited } from '../limits/limited-claim.ts'
import type { Memory } from '../memory.ts'
import type { Database } from '../server/database.ts'
import type { Manner } from '../server/settings.ts'
import type { Sql } from '../server/sql.ts'
import { answered } from './answer.ts'
import { claimOf, turnsOf, waysOf } from './claim.ts'
import { completeMany, type Effect } from './exchange.ts'
import type { Path } from './low-water.ts'
import { lookAlong, type Outlook } from './outlook.ts'
import { READY, type TakenRow, take } from './take.ts'

/** So many that are handed in together are worth a connection of their own. */
const APART_MIN = 100

/** Most exchanges: they hand in what was completed, and want more. */
type PlainExchange = Exchange & { want: Want }

/** An exchange that can be made in one journey, or in two. */
interface Plan {
  exchange: PlainExchange
  spent: readonly number[]
  clockMs: number | null
  open: readonly Lane[]
  path: Path
}

interface Claimed {
  outlook: Outlook
  rows: TakenRow[]
  claims: Claim[]
}

/** What a journey did, or two; null: something has changed, and it did nothing. */
type Made = [claimed: Claimed | null, settled: string[] | null]

/**
 * The same as `exchangeTasks`, in one journey to the server instead of one for each statement: while it is on its way
 * the server has nothing to do. It is asked for as if nothing had changed since the last time, and does nothing if
 * something has; `stepByStep` does it then. Where much is handed in there are two journeys at the same time, one that claims
 * and one that hands in: neither touches what the other does, and the server has more than one processor. Not where
 * others work, too: it has enough to do at the same time then.
 */
export async function exchangePlainly(
  database: Database,
  memory: Memory,
  exchange: Exchange,
  spent: readonly number[],
  clockMs: number | null,
  manner: Manner,
  stepByStep: (exchange: Exchange, spent: readonly number[]) => Promise<Effect>,
): Promise<Effect> {
  const plan = planOf(memory, exchange, spent, clockMs)
  if (plan === null) return stepByStep(exchange, spent)
  const isApart = exchange.outcomes.length >= APART_MIN && memory.usual.isAlone(exchange.session)
  const make = isApart ? inTwoJourneys : inOneJourney
  const [claimed, settled] = await make(database, memory, plan, manner)
  if (claimed === null && settled === null) return stepByStep(exchange, spent)

  const handedIn = settled === null ? null : { ended: settled, refused: missing(exchange.outcomes, settled) }
  if (claimed === null) {
    const rest = await stepByStep({ ...exchange, outcomes: [] }, [])
    return withHandedIn(rest.answer, handedIn!, rest)
  }
  const answer = await answerOf(database, memory, plan, claimed)
  if (handedIn !== null) return withHandedIn(answer, handedIn)
  const rest = await stepByStep({ ...exchange, want: null }, spent)
  const { refused, sessionEnded } = rest.answer
  return { ...rest, answer: { ...answer, refused, sessionEnded } }
}

/** Null: it must be asked for step by step. */
function planOf(
  memory: Memory,
  exchange: Exchange,
  spent: readonly number[],
  clockMs: number | null,
): Plan | null {
  if (!memory.usual.has(exchange.session) || !isPlain(exchange)) return null
  const { want } = exchange
  const open = memory.lanes.claimable(want.able)
  if (!isClaimedPlainly(memory, open)) return null
  const path = memory.lowWater.pathOf(waysOf(memory.queues, open))
  // To look everywhere takes a second walk.
  return want.thorough && !path.whole ? null : { exchange, spent, clockMs, open, path }
}

function isPlain(exchange: Exchange): exchange is PlainExchange {
  const { outcomes, starts, progress, logs, holding, want } = exchange
  if (want === null || holding !== undefined) return false
  if (starts.length + progress.length + logs.length > 0) return false
  return outcomes.every(({ outcome }) => outcome.kind === 'completed')
}

/** A weighted queue has a race to be moved on. */
function isClaimedPlainly({ queues }: Memory, open: readonly Lane[]): boolean {
  return open.length > 0 && queues.version !== undefined && !queues.hasWeighted
}

/** The claim goes first: what it answers is read while the server is still busy with what was handed in. */
async function inOneJourney(database: Database, memory: Memory, plan: Plan, manner: Manner): Promise<Made> {
  return database.together(async (sql) => {
    const [outlook, taken, settled] = await Promise.all([
      look(sql, memory, plan),
      claim(sql, memory, plan),
      settle(sql, plan),
    ])
    return outlook === null ? [null, null] : [{ outlook, ...taken }, settled]
  }, manner)
}

/** Each looks for itself. Should one fail, the other is over, too, when that is told: nobody looks for what is still on its way. */
async function inTwoJourneys(database: Database, memory: Memory, plan: Plan, manner: Manner): Promise<Made> {
  const claiming = database.together(async (sql) => {
    const [outlook, taken] = await Promise.all([look(sql, memory, plan), claim(sql, memory, plan)])
    return outlook === null ? null : { outlook, ...taken }
  }, manner)
  const settling = database.together(async (sql) => {
    const [outlook, settled] = await Promise.all([look(sql, memory, plan), settle(sql, plan)])
    return outlook === null ? null : settled
  }, manner)
  await Promise.allSettled([claiming, settling])
  return Promise.all([claiming, settling])
}

function look(sql: Sql, memory: Memory, { exchange, open, clockMs }: Plan): Promise<Outlook | null> {
  return lookAlong(sql, memory, exchange.session, open, clockMs)
}

async function claim(
  sql: Sql,
  memory: Memory,
  { exchange, open, path }: Plan,
): Promise<Omit<Claimed, 'outlook'>> {
  const { session, want } = exchange
  const asked = { session, want, now: null, turns: turnsOf(memory, want, open) }
  const rows = await take(sql, READY, path, asked, want.start + want.ahead)
  return { rows, claims: claimsOf(memory, want, open, rows) }
}

async function settle(sql: Sql, { exchange, spent }: Plan): Promise<string[]> {
  return (await completeMany(sql, exchange.session, exchange.outcomes, spent, false, null)).ids
}

function claimsOf({ turns }: Memory, want: Want, open: readonly Lane[], rows: readonly TakenRow[]): Claim[] {
  const laneOf = new Map(open.map((lane) => [lane.id, lane]))
  const last = rows.at(-1)
  if (last !== undefined) turns.served(want.able, laneOf.get(last.lane)!.queue)
  return rows.map((row) => claimOf(laneOf.get(row.lane)!, row))
}

async function answerOf(
  database: Database,
  memory: Memory,
  { exchange, open, path, clockMs }: Plan,
  { outlook, rows, claims }: Claimed,
): Promise<Exchanged> {
  const { entriesBefore, now, alone } = outlook
  memory.usual.note(exchange.session, true, alone)
  memory.lowWater.walked(path, { entries: (rows[0]?.entries ?? entriesBefore) - entriesBefore, taken: rows })
  const { between } = database
  const opening = unlimited(open)
  const answer = await answered(
    between,
    memory,
    exchange,
    claims,
    [],
    outlook,
    opening,
    false,
    clockMs ?? now,
  )
  return { ...answer, unlimited: true }
}

/** With what became of what was handed in. */
function withHandedIn(
  answer: Exchanged,
  { ended, refused }: { ended: string[]; refused: string[] },
  rest: Pick<Effect, 'ended' | 'requeued'> = { ended: [], requeued: false },
): Effect {
  return {
    answer: { ...answer, refused: [...refused, ...answer.refused] },
    ended: [...ended, ...rest.ended],
    requeued: rest.requeued,
  }
}

function missing(outcomes: Exchange['outcomes'], settled: readonly string[]): string[] {
  if (settled.length === outcomes.length) return []
  const done = new Set(settled)
  return outcomes.map(({ id }) => id).filter((id) => !done.has(id))
}
