import type { Claim, Exchange, Exchanged } from '../../ports/exchange.ts'
import type { Sql } from '../server/sql.ts'
import { type ClaimScope, suspectsAmongKeys } from './limited-claim.ts'
import type { LowWater } from './low-water.ts'
import type { Memory } from './memory.ts'
import { type PeekAnswer, peek } from './peek.ts'
import type { TaskPreconditions } from './preconditions.ts'

/** Others are just taking what there is: look again soon, for they may leave some of it. */
const LOCKED_AGAIN_MS = 5

/** What is told to who asked, once everything is done. */
export async function answered(
  sql: Sql,
  memory: Memory,
  { want, outcomes }: Exchange,
  claims: Claim[],
  refused: string[],
  outlook: TaskPreconditions,
  opening: ClaimScope,
  requeued: boolean,
  now: number,
): Promise<Exchanged> {
  const satisfied = want === null || claims.length >= want.start
  const yields = want !== null && !want.empty && outlook.suspects
  // Who took something has taken all that was ready; what waits beyond that is known, unless it changed just now.
  const knewWhere = memory.ready.of(opening.lanes) !== null
  const tookAll = claims.length > 0 && !requeued && opening.lanes.areFew
  const left =
    !yields && (satisfied || tookAll)
      ? leftOf(outlook)
      : await peek(sql, memory, opening.lanes, { ...want!, thorough: false })
  const suspects = yields && (left.suspects || (await suspectsAmongKeys(sql, memory, outlook, opening, now)))
  // Asked for before they were handed in.
  const over = new Set(outlook.cancels.length === 0 ? [] : outcomes.map(({ id }) => id))
  return {
    claims,
    refused,
    cancels: outlook.cancels.filter((id) => !over.has(id)),
    sessionEnded: false,
    suspectsWaiting: suspects,
    paused: want === null ? undefined : outlook.everything,
    conflicts: claims.length === 0 && (left.ready || opening.contended) ? 1 : undefined,
    ...(want?.thorough && claims.length === 0 && opening.isPart ? { isPart: true } : {}),
    nextDueInMs: satisfied
      ? null
      : left.ready && !opening.lanes.areFew && !knewWhere
        ? 0
        : lookAgainInMs(left, opening, memory.lowWater, now),
  }
}

function leftOf({ dueAt }: TaskPreconditions): PeekAnswer {
  return { ready: false, suspects: false, nextDueAt: dueAt ?? Number.POSITIVE_INFINITY }
}

/** When it is worth while to ask again, should nobody wake us; null: never. */
function lookAgainInMs(
  ahead: PeekAnswer,
  opening: ClaimScope,
  lowWater: LowWater,
  now: number,
): number | null {
  if (ahead.ready || opening.contended) return LOCKED_AGAIN_MS
  const dueInMs = Math.max(0, Math.min(ahead.nextDueAt, opening.opensAt) - now)
  const walkInMs = lowWater.walkAgainInMs() || Number.POSITIVE_INFINITY
  const soonest = Math.min(dueInMs, walkInMs)
  return soonest === Number.POSITIVE_INFINITY ? null : soonest
}

/** Nobody accepts anything of a session that has ended. */
export function ended(exchange: Exchange): Exchanged {
  const refused = [...exchange.outcomes, ...exchange.starts].map((proof) => proof.id)
  return { claims: [], refused, cancels: [], sessionEnded: true, suspectsWaiting: false, nextDueInMs: null }
}

/** Tasks of order keys may run as soon as a claim has read the outbox. */
export function lookAgain(answer: Exchanged, inMs = LOCKED_AGAIN_MS): void {
  answer.nextDueInMs = inMs
  if (answer.claims.length === 0) answer.isPart = true
}
