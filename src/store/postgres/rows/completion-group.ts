import type { RowOutcome } from '../../../model/row.ts'
import { messageOf, property } from '../../../thrown.ts'
import type { Statement } from '../server/database.ts'
import type { DiscoveryCache, KnownDiscovery } from './discovery-cache.ts'
import { faultOf } from './faults.ts'
import { type EndedClaim, heldRow } from './ledger.ts'
import { type EndedRow, errorFailure, type RowAnswers, type RowToSettle } from './row-to-settle.ts'
import { REFUSED } from './settle-sql.ts'
import type { Column } from './shape.ts'
import { asText } from './values.ts'

/** Rows that were completed with values for the same columns: one statement writes them. */
export interface Group {
  known: KnownDiscovery
  columns: Column[]
  rows: RowToSettle[]
}

/** Why these columns cannot be written whatever the row: a mistake in the code. Null: they can. */
export function wrongColumns({ declared, source }: KnownDiscovery, names: readonly string[]): string | null {
  const columns = source.columns.map(({ name }) => name)
  const unknown = names.find((name) => !columns.includes(name))
  if (unknown !== undefined)
    return `done sets ${unknown}, which is not a column; the columns are: ${columns.join(', ')}`
  const changed = names.find((name) => declared.key.includes(name))
  return changed === undefined ? null : `done sets ${changed}, which is the key of the row`
}

/** What is known of a discovery of which these columns are to be written. A text: why no row of it can be written so. */
export async function knownFor(
  book: DiscoveryCache,
  discovery: string,
  names: readonly string[],
  again = false,
): Promise<KnownDiscovery | string> {
  const known = await book.getOrProblem(discovery, again)
  if (known instanceof Error) return known.message
  const wrong = wrongColumns(known, names)
  // A column that was added a moment ago is one.
  if (wrong !== null && !again) return knownFor(book, discovery, names, true)
  return wrong ?? known
}

export function groupOf(known: KnownDiscovery, names: readonly string[]): Group {
  return { known, columns: names.map((name) => known.column(name)!), rows: [] }
}

export function settleStatement({ known, columns, rows }: Group, session: string): Statement {
  const values = columns.map((column) => rows.map((row) => asText(valuesOf(row)[column.name], column)))
  const keys = rows.map((row) => row.key)
  const fences = rows.map((row) => row.fence)
  return { text: known.settleText(columns), values: [session, keys, fences, ...values] }
}

export function valuesOf({ outcome }: RowToSettle) {
  return (outcome as Extract<RowOutcome, { kind: 'completed' }>).values
}

type Unwritten = [place: number, version: string | null, hash: string | null, attempt: number]

/** What the statement says became of them; it answers those that were ended without being written. */
export function readSettled(group: Group, [row]: readonly any[][], answers: RowAnswers): EndedRow[] {
  const [, ours, unwritten] = row as [null, number[] | null, Unwritten[] | null]
  const isOurs = ours === null ? null : new Set(ours)
  for (const [at, handedIn] of group.rows.entries()) {
    answers.set(handedIn, isOurs === null || isOurs.has(at + 1) ? { kind: 'done' } : { kind: 'refused' })
  }
  return (unwritten ?? []).map(([place, version, hash, attempt]) => {
    const handedIn = group.rows[place - 1]!
    const { discovery, key, id } = handedIn
    const held = { ...heldRow(group.known.declared, id, attempt, null), started: true }
    const claim: EndedClaim = { discovery, key, version, hash, session: 0, attempt, entry: null, held }
    return { row: handedIn, claim }
  })
}

/** What a row that could not be written alone is handed in as. */
export function asFailed(row: RowToSettle, error: unknown, known: KnownDiscovery): RowToSettle {
  const { retryAfterMs } = row.outcome as Extract<RowOutcome, { kind: 'completed' }>
  const words = messageOf(property(error, 'cause') ?? error)
  const message =
    faultOf(error) === REFUSED
      ? `what done returned leaves the row eligible (${known.declared.where}): it would be found again and again`
      : `what done returned could not be written: ${words}`
  return { ...row, outcome: { kind: 'failed', failure: errorFailure(message), retryAfterMs } }
}
