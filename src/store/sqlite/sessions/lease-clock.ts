import { advanced, type LeaseClock } from '../../../model/lease-clock.ts'
import type { Statements } from '../file/statements.ts'

/** Inside a write transaction; answers the lease clock's time. */
export function advanceLeaseClock(db: Statements, now: number, leaseMs: number): number {
  const clock = db.sql('SELECT time_ms AS timeMs, at FROM gleaner_lease_clock').get() as unknown as LeaseClock
  const { timeMs, at } = advanced(clock, now, leaseMs)
  db.sql('UPDATE gleaner_lease_clock SET time_ms = ?, at = ?').run(timeMs, at)
  return timeMs
}
