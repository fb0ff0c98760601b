import { type RowOutcome, type RowValues, readRowId } from '../../../model/row.ts'
import type { Run } from '../../ports/exchange.ts'
import { type Filled, fillSlots, runInSlots } from '../file/slots.ts'
import { isBusy } from '../file/sql-errors.ts'
import type { Statements } from '../file/statements.ts'
import type { KnownDiscovery } from './discovery-cache.ts'
import { endClaims } from './held.ts'
import { forgetEntries } from './ledger.ts'
import type { RowToSettle, Settling } from './row-to-settle.ts'
import { boundName, type OwnValues, widthOf } from './statements.ts'
import { bound, wrongColumns } from './values.ts'

type Completed = Run & { outcome: RowOutcome & { kind: 'completed' } }

/** Rows of a discovery, of which the same columns are to be written. */
interface Alike {
  discovery: string
  columns: readonly string[]
  rows: { key: string; fence: number; values: readonly unknown[] }[]
}

/** The same, ready to be written: what can be done before the file is locked is done. */
export interface CompletionBatch extends Alike {
  own: OwnValues
  /** The key of each, and what is its own. */
  slots: Filled
  keySlots: Filled
  /** In JSON. */
  keys: string
}

export function isCompleted(handedIn: RowToSettle): handedIn is Completed {
  return handedIn.outcome.kind === 'completed'
}

/** Null: they need a closer look at each. */
export function completionBatches(outcomes: readonly RowToSettle[]): CompletionBatch[] | null {
  const completed = outcomes.filter(isCompleted)
  if (completed.length < 2) return null
  const groups = new Map<string, Alike>()
  for (const { id, fence, outcome } of completed) {
    const { discovery, key } = readRowId(id)!
    const columns = Object.keys(outcome.values)
    const group = groups.get(discovery) ?? { discovery, columns, rows: [] }
    groups.set(discovery, group)
    const values = valuesOf(outcome.values)
    if (values === null || columns.length === 0 || !isAlike(columns, group.columns)) return null
    group.rows.push({ key, fence, values })
  }
  return [...groups.values()].map(ready)
}

/** What all have in common is bound once: flags mostly are, and what was claimed together is often handed in together. */
function ready(group: Alike): CompletionBatch {
  const { rows } = group
  const first = rows[0]!
  const own = {
    fence: rows.some(({ fence }) => fence !== first.fence),
    values: rows.some(({ values }) => !isAlike(values, first.values)),
  }
  const keySlots = fillSlots(
    1,
    rows.map(({ key }) => [key]),
  )
  return {
    ...group,
    own,
    slots:
      own.fence || own.values ? fillSlots(widthOf(group.columns, own), rows.map(slotted(own))) : keySlots,
    keySlots,
    keys: JSON.stringify(rows.map(({ key }) => key)),
  }
}

function slotted(own: OwnValues) {
  return ({ key, fence, values }: Alike['rows'][number]) => [
    key,
    ...(own.fence ? [fence] : []),
    ...(own.values ? values : []),
  ]
}

function isAlike(some: readonly unknown[], others: readonly unknown[]): boolean {
  return some.length === others.length && some.every((one, n) => Object.is(one, others[n]))
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
export function completeBatches(settling: Settling, groups: readonly CompletionBatch[]): boolean {
  const { db } = settling
  db.sql('SAVEPOINT gleaner_rows').run()
  const all = groups.every((group) => completeSome(settling, group))
  if (!all) db.sql('ROLLBACK TO gleaner_rows').run()
  db.sql('RELEASE gleaner_rows').run()
  return all
}

function completeSome({ db, book, session }: Settling, group: CompletionBatch): boolean {
  const { discovery, keys, rows } = group
  const known = book.getOrProblem(discovery)
  if (known instanceof Error || wrongColumns(group.columns, known.rows) !== null) return false
  try {
    if (updateAll(db, known, session, group) !== rows.length) return false
    // After the triggers of the user's own, which RETURNING would not see.
    if (db.scalar(known.statements.eligibleAmong).get({ keys }) !== undefined) return false
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
  { name, statements }: KnownDiscovery,
  session: number,
  { columns, own, rows, slots }: CompletionBatch,
): number {
  const update = statements.updateTogether(columns, own)
  const { fence, values } = rows[0]!
  const same = Object.fromEntries(own.values ? [] : values.map((value, n) => [boundName(n), value]))
  const named = { name, session, ...(own.fence ? {} : { fence }), ...same }
  if (statements.isLedByKeys(db, update, named)) return runInSlots(db, update, slots, named)
  const alone = db.sql(statements.updateHeld(columns))
  return rows.reduce(
    (changed, row) =>
      changed + alone.run({ key: row.key, name, fence: row.fence, session }, ...row.values).changes,
    0,
  )
}
