import { CHANGES_MAX, entryAfter, entryAfterChange, type LedgerEntry } from '../../../model/ledger.ts'
import { returned as asIfNever, decide } from '../../../model/outcome.ts'
import { type RowAnswer, type RowOutcome, type RowValues, readRowId } from '../../../model/row.ts'
import type { Failure } from '../../../model/task.ts'
import { ledgerEntryOf } from '../../ledger-row.ts'
import { pause } from '../../scripts/rows/discoveries.ts'
import { hasArrived, keepWaits } from '../../scripts/waits.ts'
import { driveOn, sqliteDialect } from '../file/scripts.ts'
import { isBusy, isUnanswerable } from '../file/sql-errors.ts'
import type { Statements } from '../file/statements.ts'
import { type CompletionBatch, completeBatches, isCompleted } from './complete-batch.ts'
import type { KnownDiscovery } from './discovery-cache.ts'
import { claimHeldBy, endClaim, type HeldRow, heldRow } from './held.ts'
import { forgetEntry, readEntry, writeEntry } from './ledger.ts'
import type { RowToSettle, Settling } from './row-to-settle.ts'
import { bound, wrongColumns } from './values.ts'

/** Inside a write transaction. One after the other, unless all simply succeed, as they almost always do. */
export function settleRows(
  settling: Settling,
  outcomes: readonly RowToSettle[],
  groups: readonly CompletionBatch[] | null,
): RowAnswer[] {
  const together = groups !== null && completeBatches(settling, groups)
  return outcomes.map((handedIn) =>
    together && isCompleted(handedIn) ? { kind: 'done' } : settleRow(settling, handedIn),
  )
}

/** One row, whatever became of it. `effects` are the handler's own writes. */
export function settleRow(
  settling: Settling,
  handedIn: RowToSettle,
  effects: () => void = () => {},
): RowAnswer {
  const { db, book, session } = settling
  const { discovery, key } = readRowId(handedIn.id)!
  const { outcome, fence } = handedIn
  const claim = claimHeldBy(db, { discovery, key, fence, session })
  if (claim === null) return { kind: 'refused' }
  const known = book.getOrProblem(discovery)
  if (known instanceof Error) {
    endClaim(db, discovery, key)
    return outcome.kind === 'returned' ? BACK_AT_ONCE : pausedFor(db, discovery, known.message)
  }
  const held = heldRow(db, claim, known.rows.source)
  // A start that was not yet written down is known now.
  if (outcome.kind !== 'returned') held.started = true
  const to = { settling, known, held }
  if (outcome.kind === 'returned') return returned(to)
  if (outcome.kind === 'completed') {
    const wrong = wrongColumns(Object.keys(outcome.values), known.rows)
    if (wrong !== null) return paused(to, wrong)
  }
  const version = versionOf(db, known, key)
  if (version instanceof Error) {
    return paused(to, `where: ${known.rows.source.where} fails: ${version.message}`)
  }
  if (version === null) return gone(to)
  if (version !== held.version && outcome.kind !== 'later') {
    const changed = editedMeanwhile(to, version, outcome)
    if (changed !== null) return changed
  }
  if (outcome.kind === 'failed') return failed(to, version, outcome.failure, outcome.retryAfterMs)
  if (outcome.kind === 'later') return later(to, version, outcome)
  if (outcome.kind === 'waits') return suspended(to, version, outcome)
  return completed(to, version, outcome.values, outcome.retryAfterMs, effects)
}

interface Row {
  settling: Settling
  known: KnownDiscovery
  held: HeldRow
}

function completed(
  to: Row,
  version: string,
  values: RowValues,
  retryAfterMs: number,
  effects: () => void,
): RowAnswer {
  const { db } = to.settling
  const { discovery, key } = to.held
  db.sql('SAVEPOINT gleaner_row').run()
  const problem = writeDone(to, values, effects)
  if (problem !== null) db.sql('ROLLBACK TO gleaner_row').run()
  db.sql('RELEASE gleaner_row').run()
  if (problem !== null)
    return failed(to, version, { kind: 'error', message: problem, stack: null }, retryAfterMs)
  endClaim(db, discovery, key)
  forgetEntry(db, discovery, key)
  return { kind: 'done' }
}

/** What is wrong with these values for this row; null: they are written. What the effects throw is theirs. */
function writeDone(
  { settling: { db }, known, held }: Row,
  values: RowValues,
  effects: () => void,
): string | null {
  effects()
  try {
    updateRow(db, known, held.key, values)
    return isEligible(db, known, held.key)
      ? `what done returned leaves the row eligible (${known.rows.source.where}): it would be found again and again`
      : null
  } catch (error) {
    if (isBusy(error) || !db.raw.inTransaction) throw error
    return `what done returned could not be written: ${(error as Error).message}`
  }
}

function failed(to: Row, version: string, failure: Failure, retryAfterMs: number | null): RowAnswer {
  const { settling, held } = to
  const transition = decide(held, { kind: 'failed', failure, retryAfterMs })
  if (transition.to !== 'failed' && transition.to !== 'waiting')
    throw new Error(`a row became ${transition.to}`)
  remember(to, version, (before) => entryAfter(before, held.attempts, transition, settling.now))
  return { kind: 'failed', failure, retryInMs: transition.to === 'waiting' ? transition.afterMs : null }
}

function later(to: Row, version: string, outcome: RowOutcome & { kind: 'later' }): RowAnswer {
  const { settling, held } = to
  const transition = decide(held, outcome)
  if (transition.to !== 'waiting') throw new Error(`a row became ${transition.to}`)
  remember(to, version, (before) => entryAfter(before, held.attempts, transition, settling.now))
  return { kind: 'returned', afterMs: outcome.afterMs }
}

/** What it waits for may have come since its run ended: then it is due at once. */
function suspended(to: Row, version: string, outcome: RowOutcome & { kind: 'waits' }): RowAnswer {
  const { settling, held } = to
  const { db, now } = settling
  const arrived = driveOn(db, hasArrived(DIALECT, held.id, outcome.waits, now))
  const transition = arrived ? asIfNever(held, null) : decide(held, outcome)
  if (transition.to !== 'waiting' && transition.to !== 'suspended')
    throw new Error(`a row became ${transition.to}`)
  remember(to, version, (before) => entryAfter(before, held.attempts, transition, now))
  if (arrived) return BACK_AT_ONCE
  driveOn(db, keepWaits(DIALECT, held.id, outcome.waits, now))
  return { kind: 'suspended' }
}

/** It gets the time as an argument. */
const DIALECT = sqliteDialect(() => Number.NaN)

const BACK_AT_ONCE: RowAnswer = { kind: 'returned', afterMs: 0 }

/** As if it had never been claimed. */
function returned({ settling: { db }, held }: Row): RowAnswer {
  endClaim(db, held.discovery, held.key)
  return BACK_AT_ONCE
}

function gone({ settling: { db }, held: { discovery, key } }: Row): RowAnswer {
  endClaim(db, discovery, key)
  forgetEntry(db, discovery, key)
  return { kind: 'gone' }
}

function paused(to: Row, reason: string): RowAnswer {
  returned(to)
  return pausedFor(to.settling.db, to.held.discovery, reason)
}

function pausedFor(db: Statements, discovery: string, reason: string): RowAnswer {
  driveOn(db, pause(discovery, reason))
  return { kind: 'paused', reason }
}

/** Null: a failure that counts, because the row is edited each time: perhaps by the very handler that fails. */
function editedMeanwhile(
  to: Row,
  version: string,
  outcome: RowOutcome & { kind: 'completed' | 'failed' | 'waits' },
): RowAnswer | null {
  const { settling, held } = to
  const entry = readEntry(settling.db, held.discovery, held.key)
  const times = (entry?.changes ?? 0) + 1
  const tooOften = times >= CHANGES_MAX
  if (tooOften && outcome.kind === 'failed') return null
  const afterMs = outcome.kind === 'waits' ? 0 : (outcome.retryAfterMs ?? 0)
  remember(to, version, (before) => entryAfterChange(before, afterMs, settling.now))
  return { kind: 'changed', times, backsOffMs: tooOften ? afterMs : null }
}

function remember(
  { settling: { db, now }, held: { discovery, key } }: Row,
  version: string,
  next: (before: LedgerEntry | null) => LedgerEntry | null,
): void {
  endClaim(db, discovery, key)
  const before = readEntry(db, discovery, key)
  writeEntry(db, discovery, key, version, next(before === undefined ? null : ledgerEntryOf(before)), now)
}

/** Null: it is gone, or not eligible. An error: its condition fails on it. */
function versionOf(db: Statements, { statements }: KnownDiscovery, key: string): string | null | Error {
  try {
    return (db.scalar(statements.versionOf).get({ key }) as string | undefined) ?? null
  } catch (error) {
    if (isUnanswerable(error)) return error as Error
    throw error
  }
}

/** After the triggers of the user's own, which RETURNING would not see. */
function isEligible(db: Statements, { statements }: KnownDiscovery, key: string): boolean {
  return db.scalar(statements.isEligible).get({ key }) !== undefined
}

function updateRow(db: Statements, { statements }: KnownDiscovery, key: string, values: RowValues): void {
  const columns = Object.keys(values)
  if (columns.length === 0) return
  db.sql(statements.update(columns)).run({ key }, ...bound(values))
}
