import { advanced, type LeaseClock } from '../../model/lease-clock.ts'
import type { Dialect } from '../sql/dialect.ts'
import { change, one, rows, type Script } from '../sql/script.ts'
import { sql } from '../sql/sql.ts'

/** Answers the lease clock's time. On PostgreSQL outside a transaction: a renewal that has to wait must not make others wait. */
export function* advanceLeaseClock(db: Dialect, leaseMs: number): Script<number> {
  const now = yield* db.time()
  const clock = (yield* one<LeaseClock>(sql`SELECT time_ms AS "timeMs", at FROM gleaner.lease_clock`))!
  const { timeMs, at } = advanced(clock, now, leaseMs)
  // If another process advanced the clock in the meantime, it has counted this step already.
  yield* change(sql`
    UPDATE gleaner.lease_clock SET time_ms = ${timeMs}, at = ${at} WHERE time_ms = ${clock.timeMs} AND at = ${clock.at}`)
  return timeMs
}

/** One write for all sessions of a process. Answers those that are alive. */
export function* renewSessions(db: Dialect, sessions: readonly string[], leaseMs: number): Script<string[]> {
  const leaseTime = yield* advanceLeaseClock(db, leaseMs)
  const alive = yield* rows<{ id: string }>(sql`
    UPDATE gleaner.sessions SET renewals = renewals + 1, renewed_at = ${db.now}, lease_time = ${leaseTime}
    WHERE id ${db.oneOf(sessions.map(Number))} AND ended_at IS NULL RETURNING CAST(id AS text) AS id`)
  return alive.map(({ id }) => id)
}
