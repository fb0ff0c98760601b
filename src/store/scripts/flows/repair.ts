import { UNHEARD } from '../../flow-repair.ts'
import { change, type Script } from '../../sql/script.ts'
import { sql, verbatim } from '../../sql/sql.ts'

/** Ends that one call finds. */
const FOUND_MAX = 1_000

/** In a transaction. Triggers tell of every end: this is for a database that was damaged, or written by hand. */
export function repairFlows(): Script<number> {
  return change(sql`
    INSERT INTO gleaner.flow_news (task, flow)
    SELECT u.task, u.flow FROM (${verbatim(UNHEARD)} LIMIT ${FOUND_MAX}) AS u`)
}
