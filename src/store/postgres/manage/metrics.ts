import { type Measured, minuteOf, type Present, type Readings } from '../../../model/metrics.ts'
import {
  ALL_TIME,
  addedUp,
  MINUTES_KEPT_MS,
  type MinuteRow,
  measuredIn,
  PRUNED_MAX,
} from '../../metrics-row.ts'
import { countByLane } from '../order/queues.ts'
import type { Sql } from '../server/sql.ts'
import { noteUnfinished } from './levels.ts'

/** In a transaction. Rows are locked in one order, so that processes that write the same minute do not wait in a circle. */
export async function addMetrics(sql: Sql, measured: readonly Measured[], now: number): Promise<void> {
  const minute = minuteOf(now)
  if (measured.length > 0) for (const at of [minute, ALL_TIME]) await addTo(sql, measured, at)
  await sql.run(
    `DELETE FROM gleaner.minutes WHERE (minute, queue, name) IN (
       SELECT minute, queue, name FROM gleaner.minutes WHERE minute > $1 AND minute < $2 ORDER BY minute LIMIT ${PRUNED_MAX}
       FOR UPDATE SKIP LOCKED)`,
    [ALL_TIME, minute - MINUTES_KEPT_MS],
  )
  // Last, because everybody writes this row.
  await noteUnfinished(sql, now)
}

export async function readTotals(sql: Sql): Promise<Measured[]> {
  const rows = await sql.rows<MinuteRow>('SELECT * FROM gleaner.minutes WHERE minute = $1', [ALL_TIME])
  return rows.map(measuredIn)
}

async function addTo(sql: Sql, measured: readonly Measured[], minute: number): Promise<void> {
  const of = (column: 'queue' | 'name') => measured.map((one) => one[column])
  await sql.run(
    `INSERT INTO gleaner.minutes (minute, queue, name)
     SELECT $1, queue, name FROM unnest($2::text[], $3::text[]) m(queue, name) ORDER BY queue, name
     ON CONFLICT DO NOTHING`,
    [minute, of('queue'), of('name')],
  )
  const rows = await sql.rows<MinuteRow>(
    `SELECT minutes.* FROM gleaner.minutes JOIN unnest($2::text[], $3::text[]) m(queue, name) USING (queue, name)
     WHERE minute = $1 ORDER BY queue, name FOR UPDATE OF minutes`,
    [minute, of('queue'), of('name')],
  )
  const before = new Map(rows.map((row) => [`${row.queue}/${row.name}`, row]))
  const sums = measured.map((one) => addedUp(before.get(`${one.queue}/${one.name}`), one, minute))
  await sql.run(
    `UPDATE gleaner.minutes SET enqueued = m.enqueued, completed = m.completed, failed = m.failed, retried = m.retried,
       durations = m.durations, incidents = m.incidents
     FROM unnest($2::text[], $3::text[], $4::bigint[], $5::bigint[], $6::bigint[], $7::bigint[], $8::text[], $9::text[])
       m(queue, name, enqueued, completed, failed, retried, durations, incidents)
     WHERE minute = $1 AND minutes.queue = m.queue AND minutes.name = m.name`,
    [
      minute,
      of('queue'),
      of('name'),
      sums.map((sum) => sum.enqueued),
      sums.map((sum) => sum.completed),
      sums.map((sum) => sum.failed),
      sums.map((sum) => sum.retried),
      sums.map((sum) => sum.durations),
      sums.map((sum) => sum.incidents),
    ],
  )
}

export async function readMetrics(
  sql: Sql,
  since: number,
  clockMs: number | null,
  now: number,
): Promise<Readings> {
  const minutes = await sql.rows<MinuteRow>('SELECT * FROM gleaner.minutes WHERE minute >= $1', [since])
  return { now, present: await presentIn(sql, clockMs), minutes: minutes.map(measuredIn) }
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
