import { type Limit, scopeWords, UNLIMITED } from '../../../model/limit.ts'
import { KeyShares } from '../../key-shares.ts'
import { LimitCounter, type LimitCounterRow } from '../../limit-counter.ts'
import { type LimitRow, limitOf } from '../../limit-row.ts'
import type { CountingLimits } from '../../scripts/limits.ts'
import { change } from '../../sql/script.ts'
import { sql as statement } from '../../sql/sql.ts'
import type { Sql } from '../server/sql.ts'
import { HELD } from '../waiting/conditions.ts'

/** The counter of a queue is compared with what is held so often: a limit may come while others claim without it. */
const RECOUNT_MS = 10_000

/** The numbers of all limits, as last read: they change with the code. */
export class LimitCache {
  readonly shares = new KeyShares()
  #version = 0
  #limits = new Map<string, Limit>()

  /** Reads them again unless this is the version that is known. */
  async knowing(version: number, sql: Sql): Promise<void> {
    if (version === this.#version) return
    const rows = await sql.rows<LimitRow>('SELECT * FROM gleaner.limits')
    this.#limits = new Map(rows.map((row) => [row.scope, limitOf(row)]))
    this.#version = version
  }

  of(scope: string): Limit {
    return this.#limits.get(scope) ?? UNLIMITED
  }

  /** Of these queues, those that have a limit. */
  limitedAmong(queues: Iterable<string>): string[] {
    return [...new Set(queues)].filter((queue) => this.#limits.has(scopeWords({ queue })))
  }
}

interface CountedRow extends LimitCounterRow {
  scope: string
  counted_at: number
}

export async function writeCounters(sql: Sql, gates: readonly LimitCounter[]): Promise<void> {
  if (gates.length === 0) return
  const columns = gates.map((gate) => gate.columns)
  await sql.run(
    `UPDATE gleaner.gates SET held = given.held, starts = given.starts
     FROM unnest($1::bigint[], $2::int[], $3::text[]) given(id, held, starts) WHERE gates.id = given.id`,
    [0, 1, 2].map((i) => columns.map((column) => column[i])),
  )
}

/** The limits of queues, each locked, or left out when somebody else has it. */
export async function lockQueueCounters(
  sql: Sql,
  limits: LimitCache,
  queues: readonly string[],
  now: number,
): Promise<Map<string, LimitCounter>> {
  if (queues.length === 0) return new Map()
  const scopes = new Map(queues.map((queue) => [scopeWords({ queue }), queue]))
  const rows = await sql.rows<CountedRow>(
    'SELECT * FROM gleaner.gates WHERE scope = ANY($1) ORDER BY id FOR UPDATE SKIP LOCKED',
    [[...scopes.keys()]],
  )
  const gates = new Map<string, LimitCounter>()
  for (const row of rows) {
    const held = now - row.counted_at < RECOUNT_MS ? row.held : await recount(sql, row, now)
    gates.set(scopes.get(row.scope)!, new LimitCounter({ ...row, held }, limits))
  }
  return gates
}

/** One statement, so one moment: what is held then, and the news that it makes void. */
async function recount(sql: Sql, { id, scope }: CountedRow, now: number): Promise<number> {
  const row = await sql.row<{ held: number }>(
    `WITH void AS (DELETE FROM gleaner.gate_news WHERE gate = $1)
     UPDATE gleaner.gates SET counted_at = $2, held = (
       SELECT pg_catalog.count(*) FROM gleaner.tasks JOIN gleaner.lanes ON lanes.id = tasks.lane
       WHERE tasks.${HELD} AND 'queue/' || lanes.queue = $3) WHERE id = $1 RETURNING held`,
    [id, now, scope],
  )
  return row!.held
}

/** Without a lock: those of these queues that are shut, and when the first of them opens by itself. */
export async function shutQueues(
  sql: Sql,
  limits: LimitCache,
  queues: readonly string[],
  now: number,
): Promise<{ shut: Set<string>; opensAt: number }> {
  const shut = new Set<string>()
  let opensAt = Number.POSITIVE_INFINITY
  if (queues.length === 0) return { shut, opensAt }
  const scopes = new Map(queues.map((queue) => [scopeWords({ queue }), queue]))
  const rows = await sql.rows<CountedRow>('SELECT * FROM gleaner.gates WHERE scope = ANY($1)', [
    [...scopes.keys()],
  ])
  for (const row of rows) {
    const admitted = new LimitCounter(row, limits).admission(now)
    if (admitted.room > 0) continue
    shut.add(scopes.get(row.scope)!)
    opensAt = Math.min(opensAt, admitted.opensAt ?? Number.POSITIVE_INFINITY)
  }
  return { shut, opensAt }
}

/** What became of the limits' slots in one transaction, and in which lanes something waits. */
export class Slots {
  readonly #lanes = new Map<number, { freed: number; arrived: boolean }>()

  freed(lane: number, count: number): void {
    this.#of(lane).freed += count
  }

  arrived(lane: number): void {
    this.#of(lane).arrived = true
  }

  #of(lane: number): { freed: number; arrived: boolean } {
    const slot = this.#lanes.get(lane) ?? { freed: 0, arrived: false }
    this.#lanes.set(lane, slot)
    return slot
  }

  /** Whether a limit was reached that may not be any more. */
  async write(sql: Sql): Promise<boolean> {
    if (this.#lanes.size === 0) return false
    const slots = [...this.#lanes]
    const row = await sql.row<{ full: boolean }>(
      `WITH told AS (
         INSERT INTO gleaner.gate_news (gate, lane, freed)
         SELECT gate.id, CASE WHEN arrived AND gate.id = lanes.key_gate THEN lanes.id END, freed
         FROM unnest($1::int[], $2::int[], $3::boolean[]) given(lane, freed, arrived)
         JOIN gleaner.lanes ON lanes.id = given.lane,
         LATERAL (SELECT lanes.key_gate AS id WHERE lanes.key_gate IS NOT NULL UNION ALL
                  SELECT id FROM gleaner.gates WHERE scope = 'queue/' || lanes.queue AND freed > 0) gate
         RETURNING gate, freed)
       SELECT EXISTS (
         SELECT 1 FROM told JOIN gleaner.gates ON gates.id = told.gate AND told.freed > 0
         JOIN gleaner.limits ON limits.scope = gates.limit_scope AND gates.held >= limits.concurrency) AS full`,
      [slots.map(([lane]) => lane), slots.map(([, s]) => s.freed), slots.map(([, s]) => s.arrived)],
    )
    return row!.full
  }
}

/** One is held no more. Whether a limit was reached that may not be any more. */
export async function freeSlot(sql: Sql, lane: number): Promise<boolean> {
  const slots = new Slots()
  slots.freed(lane, 1)
  return slots.write(sql)
}

/** Differs because claims count what is held of a queue when they first lock its counter, and are told which keys to look at again. */
export const countingLimits: CountingLimits = {
  beginCounting: (queue) => {
    const scope = scopeWords({ queue })
    return change(statement`
      INSERT INTO gleaner.gates (scope, limit_scope) VALUES (${scope}, ${scope}) ON CONFLICT (scope) DO NOTHING`)
  },
  reopen: (limitScope) =>
    change(statement`
      INSERT INTO gleaner.gate_news (gate, lane) SELECT gate, lane FROM gleaner.turnstiles
      WHERE NOT ready AND gate IN (SELECT id FROM gleaner.gates WHERE limit_scope = ${limitScope})`),
}
