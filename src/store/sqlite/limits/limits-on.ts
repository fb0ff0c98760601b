import { admission, type LimitScope, type LimitState, readStarts } from '../../../model/limit.ts'
import type { Statements } from '../file/statements.ts'
import type { LaneCache } from '../tasks/lanes.ts'

/** Holders that are named, at most. */
const HOLDERS_MAX = 10

interface Row {
  queue: string
  name: string
  limit_key: string
  queue_gate: number | null
  key_gate: number | null
}

export function limitsOn(db: Statements, lanes: LaneCache, task: number, now: number): LimitState[] {
  const row = db
    .sql(`SELECT l.queue, l.name, l.limit_key, l.queue_gate, l.key_gate
          FROM gleaner_tasks t JOIN gleaner_lanes l ON l.id = t.lane WHERE t.id = ?`)
    .get(task) as Row | undefined
  if (row === undefined) return []
  lanes.limits.knowing(db.scalar(`SELECT value FROM gleaner_meta WHERE key = 'limits'`).get() as number)
  const state = (
    gate: number | null,
    column: 'queue_gate' | 'key_gate',
    scope: LimitScope,
    key: string | null,
  ) => (gate === null ? [] : [stateOf(db, lanes, gate, column, scope, key, now)])
  return [
    ...state(row.queue_gate, 'queue_gate', { queue: row.queue }, null),
    ...state(row.key_gate, 'key_gate', { task: row.name }, row.limit_key),
  ]
}

function stateOf(
  db: Statements,
  lanes: LaneCache,
  gate: number,
  column: 'queue_gate' | 'key_gate',
  scope: LimitScope,
  key: string | null,
  now: number,
): LimitState {
  const row = db.sql('SELECT limit_scope, held, starts FROM gleaner_gates WHERE id = ?').get(gate) as {
    limit_scope: string
    held: number
    starts: string
  }
  const limit = lanes.limits.of(row.limit_scope)
  const { room, opensAt } = admission(limit, row.held, readStarts(row.starts), now)
  const holders = db
    .scalar(`SELECT h.id FROM gleaner_held h JOIN gleaner_lanes l ON l.id = h.lane AND l.${column} = ?
             LIMIT ${HOLDERS_MAX}`)
    .all(gate) as number[]
  const opensInMs = opensAt === null ? null : Math.max(0, opensAt - now)
  return { scope, key, limit, held: row.held, room, opensInMs, holders: holders.map(String) }
}
