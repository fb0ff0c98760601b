import { type RowAnswer, readRowId } from '../../../model/row.ts'
import type { BrokenDiscovery, RowClaimRequest, RowExchange, RowsExchanged } from '../../ports/rows.ts'
import { pauseBroken } from '../../scripts/rows/discoveries.ts'
import { driveOn } from '../file/scripts.ts'
import { isUnanswerable } from '../file/sql-errors.ts'
import type { Statements } from '../file/statements.ts'
import { isLive, markUseful } from '../sessions/live.ts'
import { claimBehind, claimingFor, claimSuspect, type HeldBatch, waitingSuspects } from './claim.ts'
import type { CompletionBatch } from './complete-batch.ts'
import type { DiscoveryCache, KnownDiscovery } from './discovery-cache.ts'
import { endClaim, rowsHeldBy } from './held.ts'
import { settleRows } from './settle.ts'

/** What is known beside the database: discoveries, and who was served last. */
export interface RowMemory {
  book: DiscoveryCache
  served: string | null
}

/** What an exchange did. `freed`: something may be claimable that was not. */
export interface RowEffect {
  answer: Omit<RowsExchanged, 'claims'>
  /** What was claimed; it is read when the file is unlocked again. */
  held: HeldBatch[]
  freed: boolean
}

export function hasRowChanges({ outcomes, starts, holding }: RowExchange): boolean {
  return outcomes.length > 0 || starts.length > 0 || holding !== undefined
}

/** Inside a write transaction: hands in what is finished, then takes what is found behind the hands. */
export function exchangeRows(
  { db, memory, now }: { db: Statements; memory: RowMemory; now: number },
  exchange: RowExchange,
  groups: readonly CompletionBatch[] | null,
): RowEffect {
  const session = Number(exchange.session)
  if (!isLive(db, session)) return { answer: sessionOver(exchange), held: [], freed: false }
  const answers = settleRows({ db, book: memory.book, session, now }, exchange.outcomes, groups)
  if (answers.some(({ kind }) => kind === 'done')) markUseful(db, session)
  const { unknown, lost } = compareHeld(db, memory.book, session, exchange)
  const refused = [...lost, ...noteStarts(db, session, exchange)]
  const { want } = exchange
  const broken: BrokenDiscovery[] = []
  const held = want === null ? [] : claimRows({ db, memory, broken }, want, session, now)
  const answer = { ...NOTHING, answers, refused, suspectsWaiting: suspectsWait(db, want, now), broken }
  return { answer, held, freed: unknown || answers.some(isFreed) }
}

export const NOTHING: RowsExchanged = {
  claims: [],
  answers: [],
  refused: [],
  sessionEnded: false,
  suspectsWaiting: false,
  nextDueInMs: null,
}

function sessionOver({ outcomes, starts }: RowExchange): RowsExchanged {
  const answers = outcomes.map((): RowAnswer => ({ kind: 'refused' }))
  return { ...NOTHING, answers, refused: starts.map(({ id }) => id), sessionEnded: true }
}

/** For a worker that is not empty, or they would wait as long as there is anything else to do. */
function suspectsWait(db: Statements, want: RowClaimRequest | null, now: number): boolean {
  if (want === null || want.empty) return false
  return want.discoveries.some((name) => waitingSuspects(db, name, now, 1).length > 0)
}

/** It waits again, at once. */
function isFreed(answer: RowAnswer): boolean {
  return answer.kind === 'changed' || (answer.kind === 'returned' && answer.afterMs === 0)
}

/** What only the store knows of goes back, and what only the worker knows of is lost. */
function compareHeld(
  db: Statements,
  book: DiscoveryCache,
  session: number,
  { holding }: RowExchange,
): { unknown: boolean; lost: string[] } {
  if (holding === undefined) return { unknown: false, lost: [] }
  const known = new Set(holding)
  const held = rowsHeldBy(db, book, session)
  const unknown = held.filter((row) => !known.has(row.id))
  for (const { discovery, key } of unknown) endClaim(db, discovery, key)
  const ours = new Set(held.map(({ id }) => id))
  return { unknown: unknown.length > 0, lost: holding.filter((id) => !ours.has(id)) }
}

function noteStarts(db: Statements, session: number, { starts }: RowExchange): string[] {
  return starts
    .filter(({ id, fence, startedAt }) => {
      const { discovery, key } = readRowId(id)!
      const { changes } = db
        .sql(`UPDATE gleaner_claims SET started_at = ?
              WHERE discovery = ? AND row_key = ? AND fence = ? AND session = ?`)
        .run(startedAt, discovery, key, fence, session)
      return changes === 0
    })
    .map(({ id }) => id)
}

/** `broken`: those that were paused on the way. */
interface Taking {
  db: Statements
  memory: RowMemory
  broken: BrokenDiscovery[]
}

function claimRows(taking: Taking, want: RowClaimRequest, session: number, now: number): HeldBatch[] {
  const { db, memory } = taking
  const claiming = claimingFor(db, session, now)
  const held: HeldBatch[] = []
  let taken = 0
  const open = openHere(taking, want)
  for (const known of want.empty ? open : []) {
    const suspect = unlessBroken(taking, known, () => claimSuspect(db, known, want, claiming))
    if (suspect !== null) return [suspect]
  }
  for (const known of open) {
    if (taken >= want.start + want.ahead) break
    const some = unlessBroken(taking, known, () =>
      claimBehind(db, known, { start: want.start - taken, count: want.start + want.ahead - taken }, claiming),
    )
    if (some === null) continue
    memory.served = known.name
    taken += some.found.length
    held.push(some)
  }
  return held
}

/** A condition that fails on some row is paused, with what the database says of it: it must not stop the others. */
function unlessBroken<T>(taking: Taking, { name, rows }: KnownDiscovery, work: () => T): T | null {
  try {
    return work()
  } catch (error) {
    if (!isUnanswerable(error)) throw error
    stop(taking, name, `where: ${rows.source.where} fails: ${(error as Error).message}`)
    return null
  }
}

/** Beginning with the one whose turn it is. A discovery whose table is not what it was is paused, and harms no other. */
function openHere(taking: Taking, { discoveries }: RowClaimRequest): KnownDiscovery[] {
  const { book, served } = taking.memory
  return book.open(inTurn(discoveries, served)).flatMap(({ name, known, problem }) => {
    if (problem !== null) stop(taking, name, problem)
    return known === null ? [] : [known]
  })
}

function stop({ db, broken }: Taking, discovery: string, reason: string): void {
  if (driveOn(db, pauseBroken(discovery, reason))) broken.push({ discovery, reason })
}

function inTurn(names: readonly string[], served: string | null): string[] {
  const next = served === null ? 0 : names.indexOf(served) + 1
  return [...names.slice(next), ...names.slice(0, next)]
}
