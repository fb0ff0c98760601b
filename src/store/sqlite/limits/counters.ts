import { type Limit, scopeWords, UNLIMITED } from '../../../model/limit.ts'
import { KeyShares } from '../../key-shares.ts'
import { LimitCounter, type LimitCounterRow } from '../../limit-counter.ts'
import { type LimitRow, limitOf } from '../../limit-row.ts'
import type { CountingLimits } from '../../scripts/limits.ts'
import { change, native } from '../../sql/script.ts'
import { sql } from '../../sql/sql.ts'
import type { Statements } from '../file/statements.ts'

const QUEUES_WITH_GATE = `SELECT substr(scope, 7) FROM gleaner_gates WHERE scope >= 'queue/' AND scope < 'queue0'`

/** The numbers of all limits, as last read: they change with the code. */
export class LimitCache {
  readonly shares = new KeyShares()
  readonly #db: Statements
  #version = 0
  #limits = new Map<string, Limit>()
  #queues: ReadonlySet<string> = new Set()

  constructor(db: Statements) {
    this.#db = db
  }

  /** Reads them again unless this is the version that is known. */
  knowing(version: number): void {
    if (version === this.#version) return
    const rows = this.#db.sql('SELECT * FROM gleaner_limits').all() as LimitRow[]
    this.#limits = new Map(rows.map((row) => [row.scope, limitOf(row)]))
    const counted = this.#db.scalar(QUEUES_WITH_GATE).all() as string[]
    this.#queues = new Set(counted)
    this.#version = version
  }

  forget(): void {
    this.#version = 0
    this.#limits = new Map()
  }

  of(scope: string): Limit {
    return this.#limits.get(scope) ?? UNLIMITED
  }

  /** Those that have or had a limit: what is held there is counted from the first limit on. */
  get queues(): ReadonlySet<string> {
    return this.#queues
  }
}

/** They have let something through. */
export function writeCounters(db: Statements, counters: readonly LimitCounter[]): void {
  if (counters.length === 0) return
  db.sql(`UPDATE gleaner_gates SET held = one.value ->> 1, starts = one.value ->> 2 FROM json_each(?) one
          WHERE gleaner_gates.id = one.value ->> 0`).run(JSON.stringify(counters.map((gate) => gate.columns)))
}

export function counterById(db: Statements, limits: LimitCache, id: number): LimitCounter {
  const row = db.sql('SELECT * FROM gleaner_gates WHERE id = ?').get(id) as LimitCounterRow
  return new LimitCounter(row, limits)
}

/** Of a queue that has or had a limit. */
export function counterOfQueue(db: Statements, limits: LimitCache, queue: string): LimitCounter {
  const scope = scopeWords({ queue })
  return new LimitCounter(
    db.sql('SELECT * FROM gleaner_gates WHERE scope = ?').get(scope) as LimitCounterRow,
    limits,
  )
}

/** So many are held no more, by the ids of gates. Whether something may have waited for that. */
export function release(db: Statements, leaving: ReadonlyMap<number, number>): boolean {
  const full: number[] = []
  for (const [count, gates] of Map.groupBy(leaving.keys(), (gate) => leaving.get(gate)!)) {
    const released = db
      .sql(`UPDATE gleaner_gates SET held = held - ? WHERE id IN (SELECT value FROM json_each(?))
            RETURNING id, held + ? >= (SELECT concurrency FROM gleaner_limits WHERE scope = limit_scope) AS was_full`)
      .all(count, JSON.stringify(gates), count) as { id: number; was_full: number | null }[]
    for (const { id, was_full } of released) if (was_full === 1) full.push(id)
  }
  if (full.length === 0) return false
  db.sql(`UPDATE gleaner_turnstiles SET ready = 1, wake_at = NULL
          WHERE gate IN (SELECT value FROM json_each(?)) AND ready = 0`).run(JSON.stringify(full))
  return true
}

export const countingLimits: CountingLimits = {
  beginCounting: (queue) =>
    native((db: Statements) => {
      const scope = scopeWords({ queue })
      if (db.scalar('SELECT 1 FROM gleaner_gates WHERE scope = ?').get(scope) !== undefined) return
      // What is held now counts, too.
      const gate = db
        .scalar(`INSERT INTO gleaner_gates (scope, limit_scope, held) VALUES (?, ?,
                   (SELECT count(*) FROM gleaner_held h JOIN gleaner_lanes l ON l.id = h.lane WHERE l.queue = ?)) RETURNING id`)
        .get(scope, scope, queue) as number
      db.sql('UPDATE gleaner_lanes SET queue_gate = ? WHERE queue = ?').run(gate, queue)
    }),
  reopen: (limitScope) =>
    change(sql`
      UPDATE gleaner.turnstiles SET ready = 1, wake_at = NULL
      WHERE ready = 0 AND gate IN (SELECT id FROM gleaner.gates WHERE limit_scope = ${limitScope})`),
}
