import type { Insight } from '../../managing.ts'
import type { Sql } from '../server/sql.ts'

export async function holdsAhead(sql: Sql, of: Parameters<Insight['holdsAhead']>[0]): Promise<boolean> {
  if (of !== null && 'discovery' in of) return holdsRow(sql, of.discovery)
  const held = await sql.row<{ held: boolean }>(
    `SELECT EXISTS (SELECT 1 FROM gleaner.held h JOIN gleaner.lanes l ON l.id = h.lane
                    WHERE h.status = 'queued' AND l.queue = coalesce($1::text, l.queue)) AS held`,
    [of?.queue ?? null],
  )
  return held!.held || (of === null && (await holdsRow(sql, null)))
}

async function holdsRow(sql: Sql, discovery: string | null): Promise<boolean> {
  const held = await sql.row<{ held: boolean }>(
    `SELECT EXISTS (SELECT 1 FROM gleaner.claims
                    WHERE started_at IS NULL AND discovery = coalesce($1::text, discovery)) AS held`,
    [discovery],
  )
  return held!.held
}
