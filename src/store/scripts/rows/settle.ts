import type { RowOutcome } from '../../../model/row.ts'
import {
  type RowSettlement,
  settleUnwritten,
  settleWait,
  type UnwrittenRow,
} from '../../../model/row-settlement.ts'
import type { Dialect } from '../../sql/dialect.ts'
import type { Script } from '../../sql/script.ts'
import { hasArrived, keepWaits } from '../waits.ts'

/** In a transaction: what becomes of a row that is still eligible. If it waits, its waits are stored. */
export function* settlementOf(
  db: Dialect,
  row: UnwrittenRow,
  outcome: RowOutcome,
  now: number,
): Script<RowSettlement> {
  if (outcome.kind !== 'waits' || row.isEdited) return settleUnwritten(row, outcome, now)
  const { id } = row.held
  // Nothing of a row is locked while it only waits: two transactions that change its waits and signals must not miss each other.
  yield* db.lockItem(id)
  const arrived = yield* hasArrived(db, id, outcome.waits, now)
  if (!arrived) yield* keepWaits(db, id, outcome.waits, now)
  return settleWait(row, outcome, arrived, now)
}
