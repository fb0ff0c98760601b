import type { Sql } from '../server/sql.ts'
import { type Ended, unfileFinished } from '../tasks/finished.ts'

interface Removed extends Ended {
  /** Of the server, until it was removed. */
  workMs: number
}

/**
 * In a transaction that has locked them: takes these tasks out, with all that belongs to them, and off the counters. Nobody
 * may hold one. A `forever` key outlives its task. The answer is how long the server was at it, in milliseconds: so it is
 * one statement, because between two of them the server would wait for us.
 */
export async function removeRows(sql: Sql, ids: readonly number[]): Promise<number> {
  const removed = await sql.rows<Removed>(
    `WITH removed AS (
         DELETE FROM gleaner.tasks WHERE id = ANY($1::bigint[]) RETURNING id, lane, status, finished_at),
       logs AS (DELETE FROM gleaner.logs WHERE task = ANY($1::bigint[]) RETURNING 1),
       attempts AS (DELETE FROM gleaner.attempts WHERE task = ANY($1::bigint[]) RETURNING 1),
       steps AS (DELETE FROM gleaner.steps WHERE item = ANY($1::bigint[]::text[]) RETURNING 1),
       waits AS (DELETE FROM gleaner.waits WHERE item = ANY($1::bigint[]::text[]) RETURNING 1),
       signals AS (DELETE FROM gleaner.signals WHERE item = ANY($1::bigint[]::text[]) RETURNING 1),
       counted AS (
         INSERT INTO gleaner.tallies (lane, created, scheduled, suspended, completed, failed, cancelled)
         SELECT lane, -pg_catalog.count(*), -pg_catalog.count(*) FILTER (WHERE status = 'scheduled'),
           -pg_catalog.count(*) FILTER (WHERE status = 'suspended'),
           -pg_catalog.count(*) FILTER (WHERE status = 'completed'), -pg_catalog.count(*) FILTER (WHERE status = 'failed'),
           -pg_catalog.count(*) FILTER (WHERE status = 'cancelled')
         FROM removed GROUP BY lane RETURNING 1)
     SELECT id, lane, status, finished_at,
       (SELECT pg_catalog.count(*) FROM counted) + (SELECT pg_catalog.count(*) FROM logs) + (SELECT pg_catalog.count(*) FROM attempts)
         + (SELECT pg_catalog.count(*) FROM steps) + (SELECT pg_catalog.count(*) FROM waits) + (SELECT pg_catalog.count(*) FROM signals) AS others,
       (extract(epoch FROM pg_catalog.clock_timestamp() - pg_catalog.statement_timestamp()) * 1000)::float8 AS "workMs"
     FROM removed`,
    [ids],
  )
  await unfileFinished(sql, removed)
  return removed.at(-1)?.workMs ?? 0
}
