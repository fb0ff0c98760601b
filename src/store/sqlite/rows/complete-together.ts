import { type RowOutcome, type RowValues, readRowId } from '../../../model/row.ts'
import type { Run } from '../../contract.ts'
import { isBusy } from '../file/sql-errors.ts'
import type { Statements } from '../file/statements.ts'
import type { Known } from './book.ts'
import { endClaims } from './held.ts'
import { forgetEntries } from './ledger.ts'
import { knownOrNull } from './repair.ts'
import type { HandedIn, Settling } from './settle.ts'
import { bound, inJson, wrongColumns } from './values.ts'

type Completed = Run & { outcome: RowOutcome & { kind: 'completed' } }

interface CompletedRow {
  key: string
  fence: number
  values: RowValues
}

export function isCompleted(handedIn: HandedIn): handedIn is Completed {
  return handedIn.outcome.kind === 'completed'
}

/** All or none: a closer look at each is needed when one of them is not as it should be. */
export function completeTogether(settling: Settling, completed: readonly Completed[]): boolean {
  const { db } = settling
  if (completed.length < 2) return false
  db.sql('SAVEPOINT gleaner_rows').run()
  const all = [...byDiscovery(completed)].every(([discovery, rows]) =>
    completeSome(settling, discovery, rows),
  )
  if (!all) db.sql('ROLLBACK TO gleaner_rows').run()
  db.sql('RELEASE gleaner_rows').run()
  return all
}

function byDiscovery(completed: readonly Completed[]): Map<string, CompletedRow[]> {
  const groups = new Map<string, CompletedRow[]>()
  for (const { id, fence, outcome } of completed) {
    const { discovery, key } = readRowId(id)!
    const row = { key, fence, values: outcome.values }
    const group = groups.get(discovery)
    if (group === undefined) groups.set(discovery, [row])
    else group.push(row)
  }
  return groups
}

function completeSome(
  { db, book, session }: Settling,
  discovery: string,
  completed: readonly CompletedRow[],
): boolean {
  const known = knownOrNull(book, discovery)
  if (known === null) return false
  const keys = JSON.stringify(completed.map(({ key }) => key))
  try {
    if (!updateAll(db, known, session, completed)) return false
    // After the triggers of the user's own, which RETURNING would not see.
    if (db.scalar(known.wording.eligibleAmong).get(keys) !== undefined) return false
  } catch (error) {
    if (isBusy(error) || !db.raw.inTransaction) throw error
    return false
  }
  if (endClaims(db, discovery, keys) !== completed.length) return false
  forgetEntries(db, discovery, keys)
  return true
}

/** False: one of them is not the row that was claimed, or not ours, or these values need a closer look. */
function updateAll(
  db: Statements,
  known: Known,
  session: number,
  completed: readonly CompletedRow[],
): boolean {
  const columns = Object.keys(completed[0]!.values)
  if (columns.length === 0 || wrongColumns(columns, known.rows) !== null) return false
  const list = known.wording.isLedByKeys(db, columns) ? listOf(columns, completed) : null
  if (list === null) return completed.every((row) => update(db, known, session, row))
  const statement = db.sql(known.wording.updateTogether(columns))
  const { changes } = statement.run({ name: known.name, session, done: JSON.stringify(list) })
  return changes === completed.length
}

/** Key, fence and the values of each; null: they are not alike, or not all of them are the same in JSON. */
function listOf(columns: readonly string[], completed: readonly CompletedRow[]): unknown[][] | null {
  const list: unknown[][] = []
  for (const { key, fence, values } of completed) {
    const row: unknown[] = [key, fence]
    for (const column in values) {
      const value = inJson(values[column]!)
      if (column !== columns[row.length - 2] || value === undefined) return null
      row.push(value)
    }
    if (row.length !== columns.length + 2) return null
    list.push(row)
  }
  return list
}

function update(
  db: Statements,
  { name, rows, wording }: Known,
  session: number,
  { key, fence, values }: CompletedRow,
): boolean {
  const columns = Object.keys(values)
  if (columns.length === 0 || wrongColumns(columns, rows) !== null) return false
  const { changes } = db.sql(wording.updateHeld(columns)).run({ key, name, fence, session }, ...bound(values))
  return changes > 0
}
