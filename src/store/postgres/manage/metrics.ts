import type { Measured, Present, Readings } from '../../../model/metrics.ts'
import { MINUTE_MS } from '../../../model/metrics.ts'
import { ALL_TIME, addedUp, type MinuteRow, measuredIn } from '../../metrics-row.ts'
import { countByLane } from '../order/queues.ts'
import type { Database } from '../server/database.ts'
import type { Sql } from '../server/sql.ts'
import { foldNews } from './folding.ts'
import { noteUnfinished } from './levels.ts'

/** What came is only added as rows: processes that write the same minute would wait for each other. One of them folds these rows. */
export async function addMetrics(
  database: Database,
  measured: readonly Measured[],
  clockMs: number | null,
): Promise<void> {
  await database.together(
    (sql) =>
      Promise.all([
        insertNews(sql, measured, clockMs),
        foldNews(sql, clockMs),
        // Last, because each process writes this row.
        noteUnfinished(sql, clockMs),
      ]),
    { durable: false },
  )
}

const COLUMNS = 'queue, name, enqueued, completed, failed, retried, durations, incidents'

async function insertNews(sql: Sql, measured: readonly Measured[], clockMs: number | null): Promise<void> {
  if (measured.length === 0) return
  const rows = measured.map((one) => addedUp(undefined, one, 0))
  const of = (column: keyof MinuteRow) => rows.map((row) => row[column])
  await sql.run(
    `INSERT INTO gleaner.minute_news (minute, ${COLUMNS})
     SELECT (SELECT now - now % ${MINUTE_MS} FROM (SELECT coalesce($1::bigint, gleaner.now_ms()) AS now) t), ${COLUMNS}
     FROM unnest($2::text[], $3::text[], $4::bigint[], $5::bigint[], $6::bigint[], $7::bigint[], $8::text[], $9::text[]) m(${COLUMNS})`,
    [
      clockMs,
      ...[of('queue'), of('name'), of('enqueued'), of('completed'), of('failed'), of('retried')],
      ...[of('durations'), of('incidents')],
    ],
  )
}

export async function readTotals(sql: Sql): Promise<Measured[]> {
  return readMinutes(
    sql,
    `SELECT * FROM gleaner.minutes WHERE minute = $1
     UNION ALL SELECT $1, ${COLUMNS} FROM gleaner.minute_news`,
    ALL_TIME,
  )
}

export async function readMetrics(
  sql: Sql,
  since: number,
  clockMs: number | null,
  now: number,
): Promise<Readings> {
  const minutes = await readMinutes(
    sql,
    `SELECT * FROM gleaner.minutes WHERE minute >= $1
     UNION ALL SELECT * FROM gleaner.minute_news WHERE minute >= $1`,
    since,
  )
  return { now, present: await presentIn(sql, clockMs), minutes }
}

/** One for each minute and name, whatever is not folded yet. */
async function readMinutes(
  sql: Sql,
  text: string,
  minute: number,
): Promise<(Measured & { minute: number })[]> {
  const all = new Map<string, MinuteRow>()
  for (const row of await sql.rows<MinuteRow>(text, [minute])) {
    const key = `${row.minute}/${row.queue}/${row.name}`
    const known = all.get(key)
    all.set(key, known === undefined ? row : addedUp(known, measuredIn(row), row.minute))
  }
  return [...all.values()].map(measuredIn)
}

async function presentIn(sql: Sql, clockMs: number | null): Promise<Present[]> {
  const lanes = await countByLane(sql, clockMs)
  const rows = await sql.rows<{ lane: number; waiting_since: number }>(
    'SELECT lane, waiting_since FROM gleaner.lane_oldest',
  )
  const oldest = new Map(rows.map((row) => [row.lane, row.waiting_since]))
  return lanes.map(({ id, queue, name, scheduled, queued, running }) => ({
    queue,
    name,
    scheduled,
    queued,
    running,
    waitingSince: oldest.get(id) ?? null,
  }))
}
