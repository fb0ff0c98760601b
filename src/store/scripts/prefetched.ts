import type { AdminStore } from '../ports/admin.ts'
import { one, type Script } from '../sql/script.ts'
import { type Fragment, sql } from '../sql/sql.ts'

/** Whether a worker holds something that it has not started. */
export function* holdsAhead(of: Parameters<AdminStore['holdsAhead']>[0]): Script<boolean> {
  if (of !== null && 'discovery' in of) return yield* holdsRow(of.discovery)
  const queue = of?.queue ?? null
  const holdsTask = yield* isThere(sql`
    SELECT 1 AS one FROM gleaner.held AS h JOIN gleaner.lanes AS l ON l.id = h.lane
    WHERE h.status = 'queued' AND l.queue = coalesce(${queue}, l.queue) LIMIT 1`)
  return holdsTask || (of === null && (yield* holdsRow(null)))
}

function holdsRow(discovery: string | null): Script<boolean> {
  return isThere(sql`
    SELECT 1 AS one FROM gleaner.claims
    WHERE started_at IS NULL AND discovery = coalesce(${discovery}, discovery) LIMIT 1`)
}

function* isThere(statement: Fragment): Script<boolean> {
  return (yield* one(statement)) !== undefined
}
