import {
  admission,
  isSameLimit,
  type LimitScope,
  type LimitState,
  type PlannedLimit,
  readStarts,
  scopeWords,
} from '../../model/limit.ts'
import { type LimitRow, limitOf } from '../limit-row.ts'
import type { Dialect } from '../sql/dialect.ts'
import { change, rows, type Script } from '../sql/script.ts'
import type { Scripts } from '../sql/scripts.ts'
import { sql } from '../sql/sql.ts'

/** How a database counts what limits hold, in a transaction. */
export interface CountingLimits {
  /** From now on, what is held of this queue is counted. */
  beginCounting(queue: string): Script<unknown>
  /** A limit has other numbers: keys that had no room may have some. */
  reopen(limitScope: string): Script<unknown>
}

/** Writes down the numbers of these limits, which hold from the next claim on. */
export async function planLimits(
  { db, read, write, tell }: Scripts,
  counting: CountingLimits,
  planned: readonly PlannedLimit[],
): Promise<void> {
  // Reads before it locks: almost every open finds nothing to do.
  if ((await read(() => changedLimits(planned))).length === 0) return
  if (await write(() => writeLimits(db, counting, planned))) tell({ kind: 'work' })
}

/** Those that the database does not know, or knows with other numbers. */
function* changedLimits(planned: readonly PlannedLimit[]): Script<PlannedLimit[]> {
  if (planned.length === 0) return []
  const found = yield* rows<LimitRow>(sql`SELECT * FROM gleaner.limits`)
  const known = new Map(found.map((row) => [row.scope, limitOf(row)]))
  return planned.filter((one) => !isSameLimit(one.limit, known.get(scopeWords(one)) ?? null))
}

/** False when there was nothing to do. In the order of the scopes, so that two processes never wait for each other. */
function* writeLimits(
  { schema }: Dialect,
  { beginCounting, reopen }: CountingLimits,
  planned: readonly PlannedLimit[],
): Script<boolean> {
  const changed = yield* changedLimits(planned)
  if (changed.length === 0) return false
  yield* change(sql`UPDATE ${schema.settings} SET value = value + 1 WHERE key = 'limits'`)
  for (const one of changed.sort((a, b) => (scopeWords(a) < scopeWords(b) ? -1 : 1))) {
    const scope = scopeWords(one)
    yield* writeLimit(scope, one)
    if ('queue' in one) yield* beginCounting(one.queue)
    yield* reopen(scope)
  }
  return true
}

function writeLimit(scope: string, { limit }: PlannedLimit): Script<number> {
  if (limit === null) return change(sql`DELETE FROM gleaner.limits WHERE scope = ${scope}`)
  const { concurrency, rate } = limit
  return change(sql`
    INSERT INTO gleaner.limits (scope, concurrency, rate_count, rate_per_ms)
    VALUES (${scope}, ${concurrency}, ${rate?.count ?? null}, ${rate?.perMs ?? null})
    ON CONFLICT (scope) DO UPDATE
    SET concurrency = excluded.concurrency, rate_count = excluded.rate_count, rate_per_ms = excluded.rate_per_ms`)
}

/** Holders that are named, at most. */
const HOLDERS_MAX = 10

interface GateRow extends LimitRow {
  id: number
  gate_scope: string
  queue: string
  name: string
  limit_key: string
  is_key: number
  held: number
  starts: string
}

/** The limits of a task: of its queue, and of its key. */
export function* limitsOn({ schema, time }: Dialect, task: number): Script<LimitState[]> {
  const now = yield* time()
  const found = yield* rows<GateRow>(sql`
    SELECT limits.*, g.id, g.scope AS gate_scope, l.queue, l.name, l.limit_key, g.starts, ${schema.gateHeld} AS held,
      CASE WHEN g.id = l.key_gate THEN 1 ELSE 0 END AS is_key
    FROM gleaner.tasks AS t JOIN gleaner.lanes AS l ON l.id = t.lane
    JOIN gleaner.gates AS g ON g.id = l.key_gate OR g.scope = 'queue/' || l.queue
    LEFT JOIN gleaner.limits AS limits ON limits.scope = g.limit_scope
    WHERE t.id = ${task} ORDER BY is_key`)
  const states: LimitState[] = []
  for (const row of found) states.push(stateOf(row, yield* holdersOf(row), now))
  return states
}

function* holdersOf({ id, gate_scope, is_key }: GateRow): Script<string[]> {
  const counted = is_key === 1 ? sql`o.key_gate = ${id}` : sql`'queue/' || o.queue = ${gate_scope}`
  const held = yield* rows<{ id: number }>(sql`
    SELECT h.id FROM gleaner.held AS h CROSS JOIN gleaner.lanes AS o WHERE o.id = h.lane AND ${counted}
    ORDER BY h.id LIMIT ${HOLDERS_MAX}`)
  return held.map((row) => String(row.id))
}

function stateOf(row: GateRow, holders: string[], now: number): LimitState {
  const { queue, name, limit_key, held, starts } = row
  const isKey = row.is_key === 1
  const limit = limitOf(row)
  const { room, opensAt } = admission(limit, held, readStarts(starts), now)
  const scope: LimitScope = isKey ? { task: name } : { queue }
  const opensInMs = opensAt === null ? null : Math.max(0, opensAt - now)
  return { scope, key: isKey ? limit_key : null, limit, held, room, opensInMs, holders }
}
