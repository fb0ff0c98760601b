import { CHANGES_MAX, entryAfter, entryAfterChange } from '../../../model/ledger.ts'
import { decide } from '../../../model/outcome.ts'
import { type RowAnswer, type RowOutcome, type RowValues, readRowId } from '../../../model/row.ts'
import type { Failure } from '../../../model/task.ts'
import type { Run } from '../../contract.ts'
import { isBusy } from '../sql-errors.ts'
import type { Statements } from '../statements.ts'
import { type DiscoveryBook, type Known, pause } from './book.ts'
import { endClaim, type HeldRow, rowHeldBy } from './held.ts'
import { entryOf, forgetEntry, readEntry, writeEntry } from './ledger.ts'
import { knownOrNull } from './repair.ts'
import { quoted } from './source-sql.ts'
import { bindable, wrongColumns } from './values.ts'

type HandedIn = Run & { outcome: RowOutcome }

/** What a row that is handed in is settled with. */
export interface Settling {
  db: Statements
  book: DiscoveryBook
  session: number
  now: number
}

/** Inside a write transaction. One after the other, unless all simply succeed, as they almost always do. */
export function settleRows(settling: Settling, outcomes: readonly HandedIn[]): RowAnswer[] {
  if (outcomes.length === 0) return []
  const answers = completeTogether(settling, outcomes)
  return answers ?? outcomes.map((handedIn) => settleRow(settling, handedIn))
}

/** All or none; null: one of them needs a closer look. */
function completeTogether(settling: Settling, outcomes: readonly HandedIn[]): RowAnswer[] | null {
  const { db } = settling
  if (outcomes.length < 2) return null
  db.sql('SAVEPOINT gleaner_rows').run()
  const all = outcomes.every((handedIn) => completeSimply(settling, handedIn))
  if (!all) db.sql('ROLLBACK TO gleaner_rows').run()
  db.sql('RELEASE gleaner_rows').run()
  return all ? outcomes.map(() => ({ kind: 'done' })) : null
}

function completeSimply({ db, book, session }: Settling, { id, fence, outcome }: HandedIn): boolean {
  if (outcome.kind !== 'completed') return false
  const { discovery, key } = readRowId(id)!
  try {
    const known = book.get(discovery)
    const { columns, source } = known.rows
    if (wrongColumns(outcome.values, columns, source.key) !== null) return false
    if (!update(db, known, { key, fence, session }, outcome.values)) return false
    if (isEligible(db, known, key)) return false
  } catch (error) {
    if (isBusy(error) || !db.raw.inTransaction) throw error
    return false
  }
  endClaim(db, discovery, key)
  forgetEntry(db, discovery, key)
  return true
}

/** One row, whatever became of it. `effects` are the handler's own writes. */
export function settleRow(settling: Settling, handedIn: HandedIn, effects: () => void = () => {}): RowAnswer {
  const { db, book, session } = settling
  const { discovery, key } = readRowId(handedIn.id)!
  const known = knownOrNull(book, discovery)
  const held = known === null ? null : rowHeldBy(db, known, key, handedIn.fence, session)
  if (known === null || held === null) return { kind: 'refused' }
  const { outcome } = handedIn
  // A start that was not yet written down is known now.
  if (outcome.kind !== 'returned') held.started = true
  const to = { settling, known, held }
  if (outcome.kind === 'returned') return returned(to)
  if (outcome.kind === 'completed') {
    const { columns, source } = known.rows
    const wrong = wrongColumns(outcome.values, columns, source.key)
    if (wrong !== null) return paused(to, wrong)
  }
  const version = versionOf(db, known, key)
  if (version === null) return gone(to)
  if (version !== held.version && outcome.kind !== 'later') {
    const changed = editedMeanwhile(to, version, outcome)
    if (changed !== null) return changed
  }
  if (outcome.kind === 'failed') return failed(to, version, outcome.failure, outcome.retryAfterMs)
  if (outcome.kind === 'later') return later(to, version, outcome.afterMs)
  return completed(to, version, outcome.values, outcome.retryAfterMs, effects)
}

interface Row {
  settling: Settling
  known: Known
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
  } catch (error) {
    if (isBusy(error) || !db.raw.inTransaction) throw error
    return `what done returned could not be written: ${(error as Error).message}`
  }
  return isEligible(db, known, held.key)
    ? `what done returned leaves the row eligible (${known.rows.source.where}): it would be found again and again`
    : null
}

function failed(to: Row, version: string, failure: Failure, retryAfterMs: number | null): RowAnswer {
  const { settling, held } = to
  const transition = decide(held, { kind: 'failed', failure, retryAfterMs })
  if (transition.to !== 'failed' && transition.to !== 'waiting')
    throw new Error(`a row became ${transition.to}`)
  remember(to, version, (before) => entryAfter(before, held.attempts, transition, settling.now))
  return { kind: 'failed', failure, retryInMs: transition.to === 'waiting' ? transition.afterMs : null }
}

function later(to: Row, version: string, afterMs: number): RowAnswer {
  const { settling, held } = to
  const transition = decide(held, { kind: 'later', afterMs })
  if (transition.to !== 'waiting') throw new Error(`a row became ${transition.to}`)
  remember(to, version, (before) => entryAfter(before, held.attempts, transition, settling.now))
  return { kind: 'returned', afterMs }
}

/** As if it had never been claimed. */
function returned({ settling: { db }, held }: Row): RowAnswer {
  endClaim(db, held.discovery, held.key)
  return { kind: 'returned', afterMs: 0 }
}

function gone({ settling: { db }, held: { discovery, key } }: Row): RowAnswer {
  endClaim(db, discovery, key)
  forgetEntry(db, discovery, key)
  return { kind: 'gone' }
}

function paused(to: Row, reason: string): RowAnswer {
  returned(to)
  pause(to.settling.db, to.held.discovery, reason)
  return { kind: 'paused', reason }
}

/** Null: a failure that counts, because the row is edited each time: perhaps by the very handler that fails. */
function editedMeanwhile(
  to: Row,
  version: string,
  outcome: RowOutcome & { kind: 'completed' | 'failed' },
): RowAnswer | null {
  const { settling, held } = to
  const entry = readEntry(settling.db, held.discovery, held.key)
  const times = (entry?.changes ?? 0) + 1
  const tooOften = times >= CHANGES_MAX
  if (tooOften && outcome.kind === 'failed') return null
  const afterMs = outcome.retryAfterMs ?? 0
  remember(to, version, (before) => entryAfterChange(before, afterMs, settling.now))
  return { kind: 'changed', times, backsOffMs: tooOften ? afterMs : null }
}

function remember(
  { settling: { db, now }, held: { discovery, key } }: Row,
  version: string,
  next: (before: ReturnType<typeof entryOf> | null) => ReturnType<typeof entryOf> | null,
): void {
  endClaim(db, discovery, key)
  const before = readEntry(db, discovery, key)
  writeEntry(db, discovery, key, version, next(before === undefined ? null : entryOf(before)), now)
}

/** Null: it is gone, or not eligible. */
function versionOf(db: Statements, { rows }: Known, key: string): string | null {
  const sql = `SELECT ${rows.version} FROM ${rows.table} WHERE ${rows.isRow(':key')} AND ${rows.eligible}`
  return (db.scalar(sql).get({ key }) as string | undefined) ?? null
}

/** After the triggers of the user's own, which RETURNING would not see. */
function isEligible(db: Statements, { rows }: Known, key: string): boolean {
  const sql = `SELECT 1 FROM ${rows.table} WHERE ${rows.isRow(':key')} AND ${rows.eligible}`
  return db.scalar(sql).get({ key }) !== undefined
}

interface Proof {
  key: string
  fence: number
  session: number
}

/** Only the row as it was claimed, by who holds it. */
function update(db: Statements, { rows, name }: Known, proof: Proof, values: RowValues): boolean {
  const set = setOf(values)
  if (set === '') return false
  const { changes } = db
    .sql(`UPDATE OR ABORT ${rows.table} SET ${set} WHERE ${rows.isRow(':key')} AND ${rows.eligible} AND ${rows.version} = (
            SELECT row_version FROM gleaner_claims
            WHERE discovery = :name AND row_key = :key AND fence = :fence AND session = :session)`)
    .run({ ...proof, name }, ...bound(values))
  return changes > 0
}

function updateRow(db: Statements, { rows }: Known, key: string, values: RowValues): void {
  const set = setOf(values)
  if (set === '') return
  db.sql(`UPDATE OR ABORT ${rows.table} SET ${set} WHERE ${rows.isRow(':key')}`).run(
    { key },
    ...bound(values),
  )
}

function setOf(values: RowValues): string {
  return Object.keys(values)
    .map((column) => `${quoted(column)} = ?`)
    .join(', ')
}

function bound(values: RowValues) {
  return Object.entries(values).map(([column, value]) => bindable(value, column))
}
