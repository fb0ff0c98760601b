import { isSameLimit, type Limit, type PlannedLimit, scopeWords, UNLIMITED } from '../../../model/limit.ts'
import { Gate, type GateRow } from '../../gate.ts'
import { type LimitRow, limitOf } from '../../limit-row.ts'
import type { Statements } from '../file/statements.ts'

/** The numbers of all limits, as last read: they change with the code. */
export class LimitBook {
  readonly #db: Statements
  #version = 0
  #limits = new Map<string, Limit>()

  constructor(db: Statements) {
    this.#db = db
  }

  /** Reads them again unless this is the version that is known. */
  knowing(version: number): void {
    if (version === this.#version) return
    const rows = this.#db.sql('SELECT * FROM gleaner_limits').all() as LimitRow[]
    this.#limits = new Map(rows.map((row) => [row.scope, limitOf(row)]))
    this.#version = version
  }

  forget(): void {
    this.#version = 0
    this.#limits = new Map()
  }

  of(scope: string): Limit {
    return this.#limits.get(scope) ?? UNLIMITED
  }

  hasQueues(): boolean {
    for (const scope of this.#limits.keys()) if (scope.startsWith('queue/')) return true
    return false
  }
}

/** So many were let through. */
export function enterGate(db: Statements, gate: Gate, count: number, now: number): void {
  gate.enter(count, now)
  const [id, held, starts] = gate.columns
  db.sql('UPDATE gleaner_gates SET held = ?, starts = ? WHERE id = ?').run(held, starts, id)
}

export function gateById(db: Statements, limits: LimitBook, id: number): Gate {
  const row = db.sql('SELECT * FROM gleaner_gates WHERE id = ?').get(id) as GateRow
  return new Gate(row, limits)
}

/** Null: nothing was ever limited there. */
export function gateOfQueue(db: Statements, limits: LimitBook, queue: string): Gate | null {
  const scope = scopeWords({ queue })
  const row = db.sql('SELECT * FROM gleaner_gates WHERE scope = ?').get(scope) as GateRow | undefined
  return row === undefined ? null : new Gate(row, limits)
}

/** So many are held no more. Whether somebody may have waited for that. */
export function release(db: Statements, gate: number, count: number): boolean {
  const wasFull = db
    .scalar(`UPDATE gleaner_gates SET held = held - ? WHERE id = ?
             RETURNING held + ? >= (SELECT concurrency FROM gleaner_limits WHERE scope = limit_scope)`)
    .get(count, gate, count)
  if (wasFull !== 1) return false
  db.sql('UPDATE gleaner_turnstiles SET ready = 1, wake_at = NULL WHERE gate = ? AND ready = 0').run(gate)
  return true
}

/** Those that the database does not know, or knows with other numbers. */
export function changedLimits(db: Statements, planned: readonly PlannedLimit[]): PlannedLimit[] {
  return planned.filter((one) => {
    const row = db.sql('SELECT * FROM gleaner_limits WHERE scope = ?').get(scopeWords(one)) as
      | LimitRow
      | undefined
    return !isSameLimit(one.limit, row === undefined ? null : limitOf(row))
  })
}

/** False when there was nothing to do. */
export function planLimits(db: Statements, planned: readonly PlannedLimit[]): boolean {
  const changed = changedLimits(db, planned)
  for (const one of changed) {
    const scope = scopeWords(one)
    if (one.limit === null) db.sql('DELETE FROM gleaner_limits WHERE scope = ?').run(scope)
    else {
      const { concurrency, rate } = one.limit
      db.sql('INSERT OR REPLACE INTO gleaner_limits VALUES (?, ?, ?, ?)').run(
        scope,
        concurrency,
        rate?.count ?? null,
        rate?.perMs ?? null,
      )
    }
    if ('queue' in one) countQueue(db, one.queue)
    reopen(db, scope)
  }
  if (changed.length === 0) return false
  db.sql(`UPDATE gleaner_meta SET value = value + 1 WHERE key = 'limits'`).run()
  return true
}

/** From the first limit of a queue on, what is held there is counted: beginning with what is held now. */
function countQueue(db: Statements, queue: string): void {
  const scope = scopeWords({ queue })
  if (db.scalar('SELECT 1 FROM gleaner_gates WHERE scope = ?').get(scope) !== undefined) return
  const gate = db
    .scalar(`INSERT INTO gleaner_gates (scope, limit_scope, held) VALUES (?, ?,
               (SELECT count(*) FROM gleaner_held h JOIN gleaner_lanes l ON l.id = h.lane WHERE l.queue = ?)) RETURNING id`)
    .get(scope, scope, queue) as number
  db.sql('UPDATE gleaner_lanes SET queue_gate = ? WHERE queue = ?').run(gate, queue)
}

/** With other numbers, what was shut may be open. */
function reopen(db: Statements, limitScope: string): void {
  db.sql(`UPDATE gleaner_turnstiles SET ready = 1, wake_at = NULL
          WHERE ready = 0 AND gate IN (SELECT id FROM gleaner_gates WHERE limit_scope = ?)`).run(limitScope)
}
