import { admission, type LimitScope, type LimitState, readStarts } from '../../../model/limit.ts'
import { type LimitRow, limitOf } from '../../limit-row.ts'
import type { Sql } from '../server/sql.ts'
import { HELD } from '../tasks/batches.ts'

/** Holders that are named, at most. */
const HOLDERS_MAX = 10

interface Row extends LimitRow {
  queue: string
  name: string
  limit_key: string
  is_key: boolean
  held: number
  starts: string
  now: number
  holders: string[]
}

/** Slots that are free again, but not yet taken into account, count as free. */
export async function limitsOn(sql: Sql, task: string, clockMs: number | null): Promise<LimitState[]> {
  const rows = await sql.rows<Row>(
    `SELECT limits.*, l.queue, l.name, l.limit_key, g.id = l.key_gate AS is_key, g.starts,
            g.held - (SELECT coalesce(pg_catalog.sum(freed), 0) FROM gleaner.gate_news n WHERE n.gate = g.id) AS held,
            coalesce($2::bigint, gleaner.now_ms()) AS now,
            ARRAY(SELECT held.id::text FROM gleaner.tasks held JOIN gleaner.lanes of ON of.id = held.lane
                  WHERE held.${HELD} AND (of.key_gate = g.id OR g.scope = 'queue/' || of.queue)
                  ORDER BY held.id LIMIT ${HOLDERS_MAX}) AS holders
     FROM gleaner.tasks t JOIN gleaner.lanes l ON l.id = t.lane
     JOIN gleaner.gates g ON g.id = l.key_gate OR g.scope = 'queue/' || l.queue
     LEFT JOIN gleaner.limits ON limits.scope = g.limit_scope
     WHERE t.id = $1 ORDER BY is_key NULLS FIRST`,
    [task, clockMs],
  )
  return rows.map(stateOf)
}

function stateOf(row: Row): LimitState {
  const { queue, name, limit_key, is_key, held, starts, now, holders } = row
  const limit = limitOf(row)
  const { room, opensAt } = admission(limit, held, readStarts(starts), now)
  const scope: LimitScope = is_key ? { task: name } : { queue }
  const opensInMs = opensAt === null ? null : Math.max(0, opensAt - now)
  return { scope, key: is_key ? limit_key : null, limit, held, room, opensInMs, holders }
}
