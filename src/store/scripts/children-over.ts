import { decideFlow } from '../../model/flow.ts'
import type { Wait } from '../../model/wait.ts'
import type { Dialect } from '../sql/dialect.ts'
import { change, one, type Script } from '../sql/script.ts'
import { sql } from '../sql/sql.ts'
import { FLOW, type FlowRow } from './flow-row.ts'

/**
 * In a transaction that has locked the item, which is about to wait for these children: they have ended already. The flow is locked, so that
 * the transaction that counts the last end sees the item wait.
 */
export function* childrenAreOver(
  db: Dialect,
  item: string,
  { name, number }: Pick<Wait, 'name' | 'number'>,
): Script<boolean> {
  const flow = yield* one<FlowRow>(sql`
    SELECT ${FLOW} FROM gleaner.flows AS f WHERE f.waiter = ${item} AND f.kind = 'children' AND f.name = ${name}
      AND f.number = ${number} AND NOT f.dropped ORDER BY f.id DESC LIMIT 1 ${db.forUpdate}`)
  if (flow === undefined || decideFlow({ ...flow, onFailure: flow.on_failure }) !== 'wait') return true
  // A child that was retried is waited for once more.
  yield* change(sql`UPDATE gleaner.flows SET resolved_at = NULL, done = 0 WHERE id = ${flow.id}`)
  return false
}
