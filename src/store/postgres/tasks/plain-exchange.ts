import type { Claim, Exchange, Want } from '../../contract.ts'
import type { Lane } from '../../lane.ts'
import { unlimited } from '../limits/limited-claim.ts'
import type { Memory } from '../memory.ts'
import type { Database, Manner } from '../server/database.ts'
import { answered } from './answer.ts'
import { claimOf, lookAlong, turnsOf, waysOf } from './claim.ts'
import { completeMany, type Effect } from './exchange.ts'
import { READY, type TakenRow, take } from './take.ts'

/** Most exchanges: they hand in what was completed, and want more. */
type PlainExchange = Exchange & { want: Want }

/**
 * The same as `exchangeTasks`, in one journey to the server instead of one for each statement: while it is on its way
 * the server has nothing to do. It is asked for as if nothing had changed since the last time, and does nothing if
 * something has. Null: it must be asked for step by step.
 */
export async function exchangePlainly(
  database: Database,
  memory: Memory,
  exchange: Exchange,
  spent: readonly number[],
  clockMs: number | null,
  manner: Manner,
): Promise<Effect | null> {
  if (!memory.usual.has(exchange.session) || !isPlain(exchange)) return null
  const { session, want, outcomes } = exchange
  const open = memory.lanes.claimable(want.able)
  if (!isClaimedPlainly(memory, open)) return null
  const path = memory.lowWater.pathOf(waysOf(memory.queues, open))
  // To look everywhere takes a second walk.
  if (want.thorough && !path.whole) return null

  const asked = { session, want, now: null, turns: turnsOf(memory, want, open) }
  // The claim goes first: what it answers is read while the server is still busy with what was handed in.
  const [outlook, { rows, claims }, settled] = await database.together(
    (sql) =>
      Promise.all([
        lookAlong(sql, memory, session, open, clockMs),
        take(sql, READY, path, asked, want.start + want.ahead).then((rows) => ({
          rows,
          claims: claimsOf(memory, want, open, rows),
        })),
        completeMany(sql, session, outcomes, spent, false, null),
      ]),
    manner,
  )
  memory.usual.note(session, outlook !== null)
  if (outlook === null) return null

  const { entriesBefore } = outlook
  memory.lowWater.walked(path, { entries: (rows[0]?.entries ?? entriesBefore) - entriesBefore, taken: rows })
  const refused = settled.ids.length === outcomes.length ? [] : missing(outcomes, settled.ids)
  const answer = await answered(
    database.between,
    memory,
    exchange,
    claims,
    refused,
    outlook,
    unlimited(open),
    false,
    clockMs ?? outlook.now,
  )
  return { answer: { ...answer, unlimited: true }, ended: settled.ids, requeued: false }
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

function claimsOf({ turns }: Memory, want: Want, open: readonly Lane[], rows: readonly TakenRow[]): Claim[] {
  const laneOf = new Map(open.map((lane) => [lane.id, lane]))
  const last = rows.at(-1)
  if (last !== undefined) turns.served(want.able, laneOf.get(last.lane)!.queue)
  return rows.map((row) => claimOf(laneOf.get(row.lane)!, row))
}

function missing(outcomes: Exchange['outcomes'], settled: readonly string[]): string[] {
  const done = new Set(settled)
  return outcomes.map(({ id }) => id).filter((id) => !done.has(id))
}
