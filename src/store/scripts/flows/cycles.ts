import { readRowId } from '../../../model/row.ts'
import { rows, type Script } from '../../sql/script.ts'
import { sql } from '../../sql/sql.ts'

/** Tasks that a search for a cycle looks at. */
const VISITED_MAX = 10_000

/** All that wait for this task now, and all that wait for those. Null: they are too many to look at. */
export function* waitersAbove(item: string): Script<Set<string> | null> {
  const above = new Set<string>()
  const open = [item]
  for (let task = open.pop(); task !== undefined; task = open.pop()) {
    for (const waiter of yield* waitersOf(Number(task))) {
      if (above.has(waiter)) continue
      above.add(waiter)
      // A row is never a child.
      if (readRowId(waiter) === null) open.push(waiter)
    }
    if (above.size > VISITED_MAX) return null
  }
  return above
}

function* waitersOf(task: number): Script<string[]> {
  const found = yield* rows<{ waiter: string }>(sql`
    SELECT f.waiter FROM gleaner.tasks AS t JOIN gleaner.flows AS f ON f.id = t.flow
    WHERE t.id = ${task} AND f.waiter IS NOT NULL AND f.resolved_at IS NULL
    UNION
    SELECT f.waiter FROM gleaner.flow_members AS m JOIN gleaner.flows AS f ON f.id = m.flow
    WHERE m.task = ${task} AND m.joined = 1 AND f.waiter IS NOT NULL AND f.resolved_at IS NULL`)
  return found.map(({ waiter }) => waiter)
}
