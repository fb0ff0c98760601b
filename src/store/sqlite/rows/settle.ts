import { type RowAnswer, type RowOutcome, type RowValues, readRowId } from '../../../model/row.ts'
import { ledgerEntryOf } from '../../ledger-row.ts'
import { pauseBroken } from '../../scripts/rows/discoveries.ts'
import { settlementOf } from '../../scripts/rows/settle.ts'
import { driveOn, sqliteDialect } from '../file/scripts.ts'
import { isBusy, isUnanswerable } from '../file/sql-errors.ts'
import type { Statements } from '../file/statements.ts'
import { type CompletionBatch, completeBatches, isCompleted } from './complete-batch.ts'
import type { KnownDiscovery } from './discovery-cache.ts'
import { claimHeldBy, endClaim, type HeldRow, heldRow } from './held.ts'
import { forgetEntry, readEntry, writeEntry } from './ledger.ts'
import type { RowToSettle, Settling } from './row-to-settle.ts'
import { bound, wrongColumns } from './values.ts'

/** It gets the time as an argument. */
const DIALECT = sqliteDialect(() => Number.NaN)

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
  if (version === null) {
    forget(to)
    return { kind: 'gone' }
  }
  const isEdited = version !== held.version
  const problem = outcome.kind === 'completed' && !isEdited ? complete(to, outcome.values, effects) : ''
  return problem === null ? { kind: 'done' } : unwritten(to, outcome, { version, isEdited, problem })
}

interface Row {
  settling: Settling
  known: KnownDiscovery
  held: HeldRow
}

/** Why the row is not done. Null: it is. */
function complete(to: Row, values: RowValues, effects: () => void): string | null {
  const { db } = to.settling
  db.sql('SAVEPOINT gleaner_row').run()
  const problem = writeDone(to, values, effects)
  if (problem !== null) db.sql('ROLLBACK TO gleaner_row').run()
  db.sql('RELEASE gleaner_row').run()
  if (problem === null) forget(to)
  return problem
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

/** The ledger speaks of the row as it is now: what its own handler wrote must not make it look edited. */
function unwritten(
  { settling: { db, now }, held }: Row,
  outcome: RowOutcome,
  { version, ...seen }: { version: string; isEdited: boolean; problem: string },
): RowAnswer {
  const { discovery, key } = held
  const stored = readEntry(db, discovery, key)
  const before = stored === undefined ? null : ledgerEntryOf(stored)
  const { answer, entry } = driveOn(db, settlementOf(DIALECT, { held, before, ...seen }, outcome, now))
  endClaim(db, discovery, key)
  writeEntry(db, { discovery, key, version }, entry, now)
  return answer
}

const BACK_AT_ONCE: RowAnswer = { kind: 'returned', afterMs: 0 }

/** As if it had never been claimed. */
function returned({ settling: { db }, held }: Row): RowAnswer {
  endClaim(db, held.discovery, held.key)
  return BACK_AT_ONCE
}

function forget({ settling: { db }, held: { discovery, key } }: Row): void {
  endClaim(db, discovery, key)
  forgetEntry(db, discovery, key)
}

function paused(to: Row, reason: string): RowAnswer {
  returned(to)
  return pausedFor(to.settling.db, to.held.discovery, reason)
}

function pausedFor(db: Statements, discovery: string, reason: string): RowAnswer {
  driveOn(db, pauseBroken(discovery, reason))
  return { kind: 'paused', reason }
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
