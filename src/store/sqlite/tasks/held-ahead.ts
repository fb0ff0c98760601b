import type { Insight } from '../../managing.ts'
import type { Statements } from '../file/statements.ts'

export function holdsAhead(db: Statements, of: Parameters<Insight['holdsAhead']>[0]): boolean {
  if (of !== null && 'discovery' in of) return holdsRow(db, of.discovery)
  const held = db
    .scalar(`SELECT EXISTS (SELECT 1 FROM gleaner_held h JOIN gleaner_lanes l ON l.id = h.lane
                            WHERE h.status = 'queued' AND l.queue = coalesce(?, l.queue))`)
    .get(of?.queue ?? null)
  return held === 1 || (of === null && holdsRow(db, null))
}

function holdsRow(db: Statements, discovery: string | null): boolean {
  const held = db
    .scalar(`SELECT EXISTS (SELECT 1 FROM gleaner_claims
                            WHERE started_at IS NULL AND discovery = coalesce(?, discovery))`)
    .get(discovery)
  return held === 1
}
