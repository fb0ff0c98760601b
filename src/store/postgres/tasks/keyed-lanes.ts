import { scopeWords } from '../../../model/limit.ts'
import type { Requires } from '../../../model/task.ts'
import { requirementWords } from '../../lane.ts'
import { IDLE_KEY_MS, limitScope } from '../../limit-row.ts'
import type { Sql } from '../server/sql.ts'

/** A lane with a key, beside the one without: by that one workers see whether they may take from it. */
export interface KeyedLane {
  queue: string
  name: string
  requires: Requires | null
  limitKey: string
  base: number
}

export function keyedWords(base: number, limitKey: string): string {
  return `${base}/${limitKey}`
}

/**
 * Of its own accord, and never inside a caller's transaction. Should nothing come of it, somebody looks at it in an hour,
 * and it goes. The lock on the gate keeps those who forget keys from it.
 */
export async function makeKeyedLanes(sql: Sql, given: readonly KeyedLane[]): Promise<void> {
  const scopes = given.map((lane) => limitScope(lane, lane.limitKey))
  await sql.run(
    `INSERT INTO gleaner.gates (scope, limit_scope) SELECT * FROM unnest($1::text[], $2::text[]) g(scope, limit_scope)
     ORDER BY scope ON CONFLICT DO NOTHING`,
    [scopes, given.map(({ name }) => scopeWords({ task: name }))],
  )
  await sql.run(
    `WITH given AS (
       SELECT * FROM unnest($1::int[], $2::text[], $3::text[], $4::text[], $5::text[], $6::text[])
         g(base, queue, name, requires, limit_key, scope)
     ), locked AS MATERIALIZED (
       SELECT id, scope FROM gleaner.gates WHERE scope = ANY($6) ORDER BY scope FOR KEY SHARE
     ), made AS (
       INSERT INTO gleaner.lanes (queue, name, requires, limit_key, key_gate)
       SELECT queue, name, requires, limit_key, locked.id FROM given JOIN locked USING (scope)
       ORDER BY queue, name, requires, limit_key ON CONFLICT DO NOTHING RETURNING id, queue, name, requires, limit_key, key_gate
     ), known AS (UPDATE gleaner.settings SET value = 1 WHERE key = 'keyed' AND value = 0)
     INSERT INTO gleaner.turnstiles (lane, base, gate, wake_at)
     SELECT made.id, given.base, made.key_gate, gleaner.now_ms() + ${IDLE_KEY_MS}
     FROM made JOIN given USING (queue, name, requires, limit_key)`,
    [
      given.map(({ base }) => base),
      given.map(({ queue }) => queue),
      given.map(({ name }) => name),
      given.map(({ requires }) => requirementWords(requires)),
      given.map(({ limitKey }) => limitKey),
      scopes,
    ],
  )
}

/** By their words. Locked, nobody can forget them until the end of the transaction. */
export async function findKeyedLanes(
  sql: Sql,
  lanes: readonly KeyedLane[],
  { locked } = { locked: false },
): Promise<Map<string, number>> {
  const rows = await sql.rows<{ id: number; base: number; limit_key: string }>(
    `SELECT lanes.id, given.base, lanes.limit_key
     FROM unnest($1::int[], $2::text[], $3::text[], $4::text[], $5::text[]) given(base, queue, name, requires, limit_key)
     JOIN gleaner.lanes ON lanes.queue = given.queue AND lanes.name = given.name AND lanes.requires = given.requires
       AND lanes.limit_key = given.limit_key ${locked ? 'FOR KEY SHARE OF lanes' : ''}`,
    [
      lanes.map(({ base }) => base),
      lanes.map(({ queue }) => queue),
      lanes.map(({ name }) => name),
      lanes.map(({ requires }) => requirementWords(requires)),
      lanes.map(({ limitKey }) => limitKey),
    ],
  )
  return new Map(rows.map((row) => [keyedWords(row.base, row.limit_key), row.id]))
}
