import type { Lane } from '../../lane.ts'
import { LimitCounter, type LimitCounterRow } from '../../limit-counter.ts'
import { IDLE_KEY_MS, TURNS_MAX } from '../../limit-row.ts'
import type { Sql } from '../server/sql.ts'
import { READY, SUSPECT } from '../waiting/conditions.ts'
import type { LimitCache } from './counters.ts'

/** Changes that one claim takes into account, at most; the next one goes on: no claim waits for those of thousands of keys. */
const NEWS_MAX = 500

/** The turnstile of a key that may be served now. We have its gate's lock. */
export interface ReadyKey {
  lane: number
  base: Lane
  gate: LimitCounter
}

/**
 * Takes the news into account, and wakes the keys whose rate lets them through again: of those gates that nobody else
 * has locked just now. Whoever has, has read the news before, or we will.
 */
export async function refreshReadyKeys(sql: Sql, now: number): Promise<void> {
  await Promise.all([lockNoted(sql, now), openTurnstiles(sql, now)])
}

/** What the transaction keeps for the statement that travels behind it. */
const [NOTED, LOCKED] = ['gleaner_claim.noted', 'gleaner_claim.locked']

function kept(name: string): string {
  return `pg_catalog.string_to_array(nullif(pg_catalog.current_setting('${name}', true), ''), ',')::bigint[]`
}

async function lockNoted(sql: Sql, now: number): Promise<void> {
  await sql.run(
    `WITH noted AS (
       (SELECT gate FROM gleaner.gate_news LIMIT ${NEWS_MAX}) UNION
       (SELECT gate FROM gleaner.turnstiles WHERE wake_at <= $1 ORDER BY wake_at LIMIT ${TURNS_MAX})
     ), locked AS MATERIALIZED (
       SELECT id FROM gleaner.gates WHERE id IN (SELECT gate FROM noted) FOR UPDATE SKIP LOCKED
     )
     SELECT pg_catalog.set_config('${NOTED}', coalesce((SELECT pg_catalog.string_agg(gate::text, ',') FROM noted), ''), true),
            pg_catalog.set_config('${LOCKED}', coalesce((SELECT pg_catalog.string_agg(id::text, ',') FROM locked), ''), true)`,
    [now],
  )
}

/** A statement of its own: it must see how they stood when we got the locks, not when we began to ask for them. */
async function openTurnstiles(sql: Sql, now: number): Promise<void> {
  await sql.run(
    `WITH locked AS MATERIALIZED (SELECT pg_catalog.unnest(${kept(LOCKED)}) AS id), taken AS (
       DELETE FROM gleaner.gate_news USING locked WHERE gate_news.gate = locked.id RETURNING gate, lane, freed
     ), orphaned AS (
       DELETE FROM gleaner.gate_news WHERE gate = ANY(${kept(NOTED)})
         AND NOT EXISTS (SELECT 1 FROM gleaner.gates WHERE gates.id = gate)
     ), lowered AS (
       UPDATE gleaner.gates SET held = held - sums.freed
       FROM (SELECT gate, pg_catalog.sum(freed) AS freed FROM taken GROUP BY gate) sums
       WHERE gates.id = sums.gate AND sums.freed > 0
       RETURNING gates.id,
         held + sums.freed >= (SELECT concurrency FROM gleaner.limits WHERE scope = limit_scope) AS was_full
     )
     UPDATE gleaner.turnstiles SET ready = true, wake_at = NULL,
       turn = CASE WHEN lane IN (SELECT lane FROM taken) THEN pg_catalog.nextval('gleaner.turns') ELSE turn END
     WHERE NOT ready AND gate IN (SELECT id FROM locked) AND (
       wake_at <= $1 OR lane IN (SELECT lane FROM taken WHERE lane IS NOT NULL)
       OR gate IN (SELECT id FROM lowered WHERE was_full))`,
    [now],
  )
}

/** `changed`: what a claim has not taken into account yet. */
interface ReadyKeys {
  ready: boolean
  changed: boolean
  wakeAt: number
}

/** Without a lock: whether the keys of these lanes may have something to give, and when the next one wakes. */
export async function peekReadyKeys(sql: Sql, bases: readonly Lane[]): Promise<ReadyKeys> {
  const row = await sql.row<Omit<ReadyKeys, 'wakeAt'> & { wakeAt: number | null }>(
    `SELECT EXISTS (SELECT 1 FROM gleaner.turnstiles WHERE base = ANY($1::int[]) AND ready) AS ready,
            EXISTS (SELECT 1 FROM gleaner.gate_news) AS changed,
            (SELECT pg_catalog.min(wake_at) FROM gleaner.turnstiles WHERE wake_at IS NOT NULL) AS "wakeAt"`,
    [bases.map((base) => base.id)],
  )
  return { ...row!, wakeAt: row!.wakeAt ?? Number.POSITIVE_INFINITY }
}

type TurnRow = LimitCounterRow & { lane: number; base: number }

/**
 * The keys of these lanes whose turn it is, each with its gate locked; who is served longest ago comes first. Those
 * without work, and those whose limit is reached, are shut on the way, and not met again.
 */
export async function keysInTurn(
  sql: Sql,
  limits: LimitCache,
  bases: readonly Lane[],
  count: number,
  now: number,
): Promise<ReadyKey[]> {
  const baseOf = new Map(bases.map((base) => [base.id, base]))
  const gates = new Map<number, LimitCounter>()
  const open: ReadyKey[] = []
  const seen: number[] = []
  while (seen.length < TURNS_MAX && open.length < count) {
    const rows = await sql.rows<TurnRow & { locked: boolean; waits: boolean }>(
      `WITH next AS MATERIALIZED (
         SELECT t.* FROM pg_catalog.unnest($1::int[]) b(base), LATERAL (
           SELECT lane, base, gate, turn FROM gleaner.turnstiles
           WHERE turnstiles.base = b.base AND ready AND NOT lane = ANY($3::int[]) ORDER BY turn, lane LIMIT $2) t
         ORDER BY turn, lane LIMIT $2
       )
       SELECT next.lane, next.base, locked.id IS NOT NULL AS locked, locked.*, EXISTS (
         SELECT 1 FROM gleaner.tasks WHERE tasks.lane = next.lane AND ${READY}) AS waits
       FROM next LEFT JOIN LATERAL (
         SELECT * FROM gleaner.gates WHERE gates.id = next.gate FOR UPDATE SKIP LOCKED) locked ON true
       ORDER BY next.turn, next.lane`,
      [bases.map((base) => base.id), count, seen],
    )
    seen.push(...rows.map((row) => row.lane))
    const shut: LimitCounter[] = []
    const empty: ReadyKey[] = []
    for (const row of rows) {
      if (!row.locked) continue
      const gate = gates.get(row.id) ?? new LimitCounter(row, limits)
      gates.set(row.id, gate)
      const one = { lane: row.lane, base: baseOf.get(row.base)!, gate }
      if (gate.admission(now).room === 0) shut.push(gate)
      else if (row.waits) open.push(one)
      else empty.push(one)
    }
    await shutKeys(sql, shut, now)
    await restKeys(sql, empty, now)
    if (rows.length < count) break
  }
  return open.slice(0, count)
}

/** Until somebody of their key ends, or its rate lets the next one through. */
async function shutKeys(sql: Sql, gates: readonly LimitCounter[], now: number): Promise<void> {
  if (gates.length === 0) return
  await sql.run(
    `UPDATE gleaner.turnstiles SET ready = false, wake_at = given.wake_at
     FROM unnest($1::bigint[], $2::bigint[]) given(gate, wake_at) WHERE turnstiles.gate = given.gate`,
    [gates.map((gate) => gate.id), gates.map((gate) => gate.admission(now).opensAt)],
  )
}

/** Those whose tasks were claimed have had their turn. Their gates have counted them. */
export async function passKeys(sql: Sql, passed: readonly ReadyKey[], now: number): Promise<void> {
  if (passed.length === 0) return
  const gates = [...new Set(passed.map(({ gate }) => gate))]
  await Promise.all([
    sql.run(
      `UPDATE gleaner.turnstiles SET turn = pg_catalog.nextval('gleaner.turns') WHERE lane = ANY($1::int[])`,
      [passed.map(({ lane }) => lane)],
    ),
    shutKeys(
      sql,
      gates.filter((gate) => gate.admission(now).room === 0),
      now,
    ),
  ])
}

/** Nothing waits there now; what comes will be news. What is not used for long is looked at again, and goes. */
async function restKeys(sql: Sql, empty: readonly ReadyKey[], now: number): Promise<void> {
  if (empty.length === 0) return
  const rows = await sql.rows<{ lane: number; unused: boolean }>(
    `UPDATE gleaner.turnstiles SET ready = false, wake_at = $2 WHERE lane = ANY($1::int[]) AND NOT EXISTS (
       SELECT 1 FROM gleaner.tasks
       WHERE tasks.lane = turnstiles.lane AND ${READY})
     RETURNING lane, (SELECT created = 0 FROM gleaner.lanes WHERE id = lane) AS unused`,
    [empty.map(({ lane }) => lane), now + IDLE_KEY_MS],
  )
  const unused = new Set(rows.filter((row) => row.unused).map((row) => row.lane))
  const idle = empty.filter(({ lane, gate }) => unused.has(lane) && gate.isIdle(now))
  if (idle.length > 0) await forgetKeys(sql, idle)
}

/** No task refers to them. Who is just about to enqueue one has locked its lane. */
async function forgetKeys(sql: Sql, idle: readonly ReadyKey[]): Promise<void> {
  const locked = await sql.rows<{ id: number }>(
    'SELECT id FROM gleaner.lanes WHERE id = ANY($1::int[]) ORDER BY id FOR UPDATE SKIP LOCKED',
    [idle.map(({ lane }) => lane)],
  )
  const gone = await sql.rows<{ id: number; gate: number }>(
    `DELETE FROM gleaner.lanes WHERE id = ANY($1::int[])
       AND created + (SELECT coalesce(pg_catalog.sum(t.created), 0) FROM gleaner.tallies t WHERE t.lane = lanes.id) = 0
     RETURNING id, key_gate AS gate`,
    [locked.map((row) => row.id)],
  )
  const lanes = gone.map((row) => row.id)
  await sql.run('DELETE FROM gleaner.turnstiles WHERE lane = ANY($1::int[])', [lanes])
  // They sum up to nothing. Who sums up just now waits for the lane: we do not wait for him.
  await sql.run(
    `DELETE FROM gleaner.tallies WHERE ctid = ANY(ARRAY(
       SELECT ctid FROM gleaner.tallies WHERE lane = ANY($1::int[]) FOR UPDATE SKIP LOCKED))`,
    [lanes],
  )
  // The same key may have other requirements.
  await sql.run(
    `DELETE FROM gleaner.gates WHERE id = ANY($1::bigint[])
       AND NOT EXISTS (SELECT 1 FROM gleaner.turnstiles t WHERE t.gate = gates.id)`,
    [gone.map((row) => row.gate)],
  )
}

/** The keys of these lanes that have a suspect and may be served now, each with its gate locked. There are few. */
export async function keysWithSuspects(
  sql: Sql,
  limits: LimitCache,
  bases: readonly Lane[],
  now: number,
  { locked }: { locked: boolean },
): Promise<ReadyKey[]> {
  const baseOf = new Map(bases.map((base) => [base.id, base]))
  const rows = await sql.rows<TurnRow>(
    `WITH RECURSIVE suspected (lane) AS (
       (SELECT lane FROM gleaner.tasks WHERE ${SUSPECT} ORDER BY lane LIMIT 1)
       UNION ALL
       SELECT (SELECT tasks.lane FROM gleaner.tasks WHERE ${SUSPECT} AND tasks.lane > suspected.lane ORDER BY tasks.lane LIMIT 1) FROM suspected WHERE suspected.lane IS NOT NULL
     )
     SELECT t.lane, t.base, gates.*
     FROM (SELECT lane FROM suspected WHERE lane IS NOT NULL LIMIT ${TURNS_MAX}) s
     JOIN gleaner.turnstiles t ON t.lane = s.lane AND t.base = ANY($1::int[])
     JOIN gleaner.gates ON gates.id = t.gate ${locked ? 'FOR UPDATE OF gates SKIP LOCKED' : ''}`,
    [bases.map((base) => base.id)],
  )
  return rows
    .map((row) => ({ lane: row.lane, base: baseOf.get(row.base)!, gate: new LimitCounter(row, limits) }))
    .filter(({ gate }) => gate.room(now) > 0)
}
