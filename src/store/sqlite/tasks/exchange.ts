import type { Claim, ClaimProof, ClaimRequest, Exchange, Exchanged } from '../../ports/exchange.ts'
import { decideOutcomes, giveBackUnknown } from '../../scripts/transitions.ts'
import type { Statements } from '../file/statements.ts'
import { type ClaimScope, EMPTY_SCOPE, openLanes } from '../limits/claim-scope.ts'
import { isLive, markUseful } from '../sessions/live.ts'
import { advanceVirtualTimes, claimTasks, nextDueAt, somethingToClaim, suspectsWaiting } from './claim.ts'
import { type Completion, completeAll } from './complete.ts'
import { opensAt } from './limited-claim.ts'
import { appendLogs } from './logs.ts'
import type { Memory } from './memory.ts'
import { Tally } from './tally.ts'
import { allHeldBy, applyAll, heldBy } from './transition.ts'

/** What an exchange changed that others wait for. `requeued`: something may be claimable that was not. */
export interface Effect {
  answer: Exchanged
  ended: string[]
  requeued: boolean
  /** Others may wait for tasks that ended. */
  heard: boolean
}

/** Without a lock: the answer, if there is nothing to write. Null: a write transaction is needed. */
export function precheck(db: Statements, memory: Memory, exchange: Exchange, now: number): Exchanged | null {
  const session = Number(exchange.session)
  if (!isLive(db, session)) return ended(exchange)
  const { want } = exchange
  const open = want === null ? EMPTY_SCOPE : openLanes(db, memory, want, now)
  if (want !== null && somethingToClaim(db, memory, open, want, now)) return null
  return answered(db, memory, session, [], [], want, open, now)
}

/** Inside a write transaction: hands in what is finished, then takes what is next. */
export function exchangeTasks(db: Statements, memory: Memory, exchange: Exchange, now: number): Effect {
  const session = Number(exchange.session)
  if (!isLive(db, session)) return { answer: ended(exchange), ended: [], requeued: false, heard: false }
  // Before the outcomes: what has ended takes no progress any more.
  noteProgress(db, session, exchange)
  const settled = settle(db, memory, session, exchange, now)
  const unknown = compareHeld(db, memory, session, exchange, now, settled.refused)
  noteStarts(db, session, exchange, settled.refused)
  advanceVirtualTimes(memory.queues, memory.weightedEntries.begun(exchange))
  appendLogs(db, session, exchange.logs)

  const { want } = exchange
  const open = want === null ? EMPTY_SCOPE : openLanes(db, memory, want, now)
  const claims = want === null ? [] : claimTasks(db, memory, open, session, want, now)
  const answer = answered(db, memory, session, claims, settled.refused, want, open, now)
  const heard = settled.ended.length > 0 && hasFlowNews(db)
  return { answer, ended: settled.ended, requeued: settled.requeued || unknown, heard }
}

/** Triggers write down the end of a task that others wait for. */
export function hasFlowNews(db: Statements): boolean {
  return db.scalar('SELECT EXISTS (SELECT 1 FROM gleaner_flow_news)').get() === 1
}

function settle(db: Statements, memory: Memory, session: number, exchange: Exchange, now: number) {
  const tally = new Tally()
  const completions = exchange.outcomes.filter(isCompletion)
  const others = exchange.outcomes.filter((handedIn) => !isCompletion(handedIn))
  const heldAs = ({ id, fence }: ClaimProof) => heldBy(db, session, Number(id), fence)
  const { decided, refused, ended, ...handedIn } = decideOutcomes(others, heldAs)
  let { requeued } = handedIn
  if (applyAll(db, memory, decided, now, tally)) requeued = true
  const completed = completeAll(db, session, completions, now)
  for (const group of completed) {
    memory.lanes.countCompleted(group, tally)
    for (const { id } of group) ended.push(id)
  }
  refused.push(...notAmong(completions, completed))
  if (tally.write(db)) requeued = true
  if (ended.length > 0) markUseful(db, session)
  return { refused, ended, requeued }
}

function isCompletion(handedIn: Exchange['outcomes'][number]): handedIn is Completion {
  return handedIn.outcome.kind === 'completed'
}

/** Almost always none. */
function notAmong(
  completions: readonly Completion[],
  completed: readonly (readonly Completion[])[],
): string[] {
  const count = completed.reduce((sum, group) => sum + group.length, 0)
  if (count === completions.length) return []
  const done = new Set(completed.flat())
  return completions.filter((completion) => !done.has(completion)).map(({ id }) => id)
}

/** What only the store knows of goes back, and what only the worker knows of is refused. True: something went back. */
function compareHeld(
  db: Statements,
  memory: Memory,
  session: number,
  { holding }: Exchange,
  now: number,
  refused: string[],
): boolean {
  if (holding === undefined) return false
  const known = new Set(holding)
  const held = allHeldBy(db, session)
  const ours = new Set(held.map(({ id }) => id))
  refused.push(...holding.filter((id) => !ours.has(id)))
  const unknown = giveBackUnknown(held, known)
  const tally = new Tally()
  applyAll(db, memory, unknown, now, tally)
  tally.write(db)
  return unknown.length > 0
}

function noteStarts(db: Statements, session: number, { starts }: Exchange, refused: string[]): void {
  for (const { id, fence, startedAt } of starts) {
    const { changes } = db
      .sql(
        `UPDATE gleaner_tasks SET status = 'running', started_at = ? WHERE id = ? AND fence = ? AND session = ?`,
      )
      .run(startedAt, Number(id), fence, session)
    if (changes === 0) refused.push(id)
  }
}

function noteProgress(db: Statements, session: number, { progress }: Exchange): void {
  for (const { id, fence, fraction, message } of progress) {
    db.sql(`UPDATE gleaner_tasks SET progress = ?, progress_message = ?
            WHERE id = ? AND fence = ? AND session = ?`).run(fraction, message, Number(id), fence, session)
  }
}

function answered(
  db: Statements,
  memory: Memory,
  session: number,
  claims: Claim[],
  refused: string[],
  want: ClaimRequest | null,
  open: ClaimScope,
  now: number,
): Exchanged {
  const cancels = db
    .scalar('SELECT id FROM gleaner_tasks WHERE session = ? AND cancel_requested = 1 AND fence IS NOT NULL')
    .all(session) as number[]
  const satisfied = want === null || claims.length >= want.start
  const dueAt = satisfied ? Number.POSITIVE_INFINITY : Math.min(nextDueAt(db), opensAt(db, open))
  return {
    claims,
    refused,
    cancels: cancels.map(String),
    sessionEnded: false,
    suspectsWaiting: want !== null && !want.empty && suspectsWaiting(db, memory, open, now),
    nextDueInMs: dueAt === Number.POSITIVE_INFINITY ? null : Math.max(0, dueAt - now),
    paused: want === null ? undefined : open.paused,
  }
}

function ended(exchange: Exchange): Exchanged {
  const refused = [...exchange.outcomes, ...exchange.starts].map((proof) => proof.id)
  return { claims: [], refused, cancels: [], sessionEnded: true, suspectsWaiting: false, nextDueInMs: null }
}
