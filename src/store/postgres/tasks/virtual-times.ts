import { type Ranking, virtualTime } from '../../../model/rank.ts'
import { virtualTimes, type WeightedEntry } from '../../weighted-entries.ts'
import type { Sql } from '../server/sql.ts'

/** How far the race of each of these weighted queues has come. */
export async function readVirtualTimes(sql: Sql, queues: readonly string[]): Promise<Map<string, number>> {
  if (queues.length === 0) return new Map()
  const rows = await sql.rows<{ queue: string; moment: number }>(
    `SELECT queue, pg_catalog.max(moment) AS moment FROM gleaner.races JOIN gleaner.queues q ON q.name = queue AND q.era = races.era
     WHERE queue = ANY($1) GROUP BY queue`,
    [queues],
  )
  return new Map(rows.map(({ queue, moment }) => [queue, moment]))
}

/** These were started by this session. It may have ended: what it had is with session 0 then. */
export async function advanceVirtualTimes(
  sql: Sql,
  book: { of(queue: string): Ranking },
  session: string,
  started: readonly WeightedEntry[],
): Promise<void> {
  for (const [queue, rank] of virtualTimes(started)) {
    const ranking = book.of(queue)
    const moment = virtualTime(ranking, rank)
    if (moment === null) continue
    await sql.run(
      `INSERT INTO gleaner.races AS r (queue, era, session, moment)
       SELECT $1::text, $2::int, id, $4::bigint FROM gleaner.sessions WHERE id = $3 AND ended_at IS NULL FOR KEY SHARE
       ON CONFLICT (queue, era, session) DO UPDATE SET moment = excluded.moment WHERE r.moment < excluded.moment`,
      [queue, ranking.era, session, moment],
    )
  }
}

/** In the transaction that ends these sessions. */
export async function leaveVirtualTimes(sql: Sql, sessions: readonly number[]): Promise<void> {
  await sql.run(
    `WITH gone AS (DELETE FROM gleaner.races WHERE session = ANY($1::bigint[]) RETURNING queue, era, moment)
     INSERT INTO gleaner.races AS r (queue, era, session, moment)
     SELECT queue, era, 0, pg_catalog.max(moment) FROM gone GROUP BY queue, era
     ON CONFLICT (queue, era, session) DO UPDATE SET moment = excluded.moment WHERE r.moment < excluded.moment`,
    [sessions],
  )
}
