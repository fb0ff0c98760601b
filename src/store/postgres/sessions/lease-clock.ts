import { advanced, type LeaseClock } from '../../../model/lease-clock.ts'
import type { Sql } from '../server/sql.ts'

/**
 * In a transaction of its own, which waits for nobody: a renewal that must wait for the end of another session holds up no
 * one else's. Answers the lease clock's time.
 */
export async function advanceLeaseClock(sql: Sql, leaseMs: number, clockMs: number | null): Promise<number> {
  const { now, ...clock } = (await sql.row<LeaseClock & { now: number }>(
    'SELECT time_ms AS "timeMs", at, coalesce($1::bigint, gleaner.now_ms()) AS now FROM gleaner.lease_clock',
    [clockMs],
  ))!
  const { timeMs, at } = advanced(clock, now, leaseMs)
  // If another process advanced it in the meantime, it has counted this step already.
  await sql.run('UPDATE gleaner.lease_clock SET time_ms = $1, at = $2 WHERE time_ms = $3 AND at = $4', [
    timeMs,
    at,
    clock.timeMs,
    clock.at,
  ])
  return timeMs
}
