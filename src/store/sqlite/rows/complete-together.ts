import { type RowOutcome, type RowValues, readRowId } from '../../../model/row.ts'
import type { Run } from '../../contract.ts'
import { type Filled, fillSlots, runInSlots } from '../file/slots.ts'
import { isBusy } from '../file/sql-errors.ts'
import type { Statements } from '../file/statements.ts'
import type { Known } from './book.ts'
import { endClaims } from './held.ts'
import { forgetEntries } from './ledger.ts'
import { knownOrNull } from './repair.ts'
import type { HandedIn, Settling } from './settle.ts'
import { bound, wrongColumns } from './values.ts'
import { boundName } from './wording.ts'

type Completed = Run & { outcome: RowOutcome & { kind: 'completed' } }

/** Rows of one claim, of which the same columns are to be written. */
interface Alike {
  discovery: string
  fence: number
  columns: readonly string[]
  /** Key and values of each. */
  rows: unknown[][]
}

/** The same, ready to be written: what can be done before the file is locked is done. */
export interface Together extends Alike {
  /** Of all of them; null: each has its own. */
  values: readonly unknown[] | null
  /** Their keys, and their own values. */
  slots: Filled
  keySlots: Filled
  /** In JSON. */
  keys: string
}

export function isCompleted(handedIn: HandedIn): handedIn is Completed {
  return handedIn.outcome.kind === 'completed'
}

/** Null: they need a closer look at each. */
export function togetherOf(outcomes: readonly HandedIn[]): Together[] | null {
  const completed = outcomes.filter(isCompleted)
  if (completed.length < 2) return null
  const groups = new Map<string, Alike>()
  for (const { id, fence, outcome } of completed) {
    const { discovery, key } = readRowId(id)!
    const columns = Object.keys(outcome.values)
    const name = `${fence} ${discovery}`
    const group = groups.get(name) ?? { discovery, fence, columns, rows: [] }
    groups.set(name, group)
    const values = valuesOf(outcome.values)
    if (values === null || columns.length === 0 || !isAlike(columns, group.columns)) return null
    group.rows.push([key, ...values])
  }
  return [...groups.values()].map(ready)
}

/** What all have in common is bound once: flags mostly are. */
function ready(group: Alike): Together {
  const { rows, columns } = group
  const [[, ...values], ...others] = rows as [unknown[], ...unknown[][]]
  const same = others.every((row) => values.every((value, n) => Object.is(value, row[n + 1])))
  const keySlots = fillSlots(1, rows)
  return {
    ...group,
    values: same ? values : null,
    slots: same ? keySlots : fillSlots(columns.length + 1, rows),
    keySlots,
    keys: JSON.stringify(rows.map(([key]) => key)),
  }
}

function isAlike(some: readonly string[], others: readonly string[]): boolean {
  return some.length === others.length && some.every((name, n) => name === others[n])
}

/** Null: one of them is nothing that a column can hold. */
function valuesOf(values: RowValues): unknown[] | null {
  try {
    return bound(values)
  } catch {
    return null
  }
}

/** All or none: a closer look at each is needed when one of them is not as it should be. */
export function completeTogether(settling: Settling, groups: readonly Together[]): boolean {
  const { db } = settling
  db.sql('SAVEPOINT gleaner_rows').run()
  const all = groups.every((group) => completeSome(settling, group))
  if (!all) db.sql('ROLLBACK TO gleaner_rows').run()
  db.sql('RELEASE gleaner_rows').run()
  return all
}

function completeSome({ db, book, session }: Settling, group: Together): boolean {
  const { discovery, keys, rows } = group
  const known = knownOrNull(book, discovery)
  if (known === null || wrongColumns(group.columns, known.rows) !== null) return false
  try {
    if (updateAll(db, known, session, group) !== rows.length) return false
    // After the triggers of the user's own, which RETURNING would not see.
    if (db.scalar(known.wording.eligibleAmong).get({ keys }) !== undefined) return false
  } catch (error) {
    if (isBusy(error) || !db.raw.inTransaction) throw error
    return false
  }
  if (endClaims(db, discovery, group.keySlots) !== rows.length) return false
  forgetEntries(db, discovery, keys)
  return true
}

/** Fewer: one of them is not the row that was claimed, or not ours. */
function updateAll(
  db: Statements,
  { name, wording }: Known,
  session: number,
  { columns, values, fence, rows, slots }: Together,
): number {
  const update = wording.updateTogether(columns, values !== null)
  const same = Object.fromEntries(values?.map((value, n) => [boundName(n), value]) ?? [])
  const named = { name, fence, session, ...same }
  if (wording.isLedByKeys(db, update, named)) return runInSlots(db, update, slots, named)
  const alone = db.sql(wording.updateHeld(columns))
  return rows.reduce(
    (changed, [key, ...its]) => changed + alone.run({ key, name, fence, session }, ...its).changes,
    0,
  )
}
