import type { Demand } from '../../../model/alerts.ts'
import type { Circumstances } from '../../../model/explanation.ts'
import { withoutMark } from '../../follower.ts'
import { readRequirement } from '../../lane.ts'
import { SERVING, type ServingRow, serving } from '../../serving-row.ts'
import { taskRecord } from '../../task-row.ts'
import { countByLane } from '../order/queues.ts'
import type { Sql } from '../server/sql.ts'
import { holdersOf } from '../tasks/enqueue.ts'
import type { LaneBook } from '../tasks/lanes.ts'
import { FULL, type FullRow, rowid } from '../tasks/task-records.ts'

type Row = FullRow & {
  now: number
  fence: number | null
  suspect: boolean
  cancel_requested: boolean
  everything: boolean
  queue_paused: boolean
  workers: ServingRow[]
}

export async function readCircumstances(
  sql: Sql,
  lanes: LaneBook,
  id: string,
  clockMs: number | null,
): Promise<Omit<Circumstances, 'limits'> | null> {
  const row = await sql.row<Row>(
    `SELECT ${FULL}, gleaner.now_ms() AS now,
            (SELECT value <> 0 FROM gleaner.settings WHERE key = 'paused') AS everything,
            coalesce((SELECT q.paused FROM gleaner.lanes l JOIN gleaner.queues q ON q.name = l.queue
                      WHERE l.id = t.lane), false) AS queue_paused,
            (SELECT coalesce(pg_catalog.json_agg(pg_catalog.json_build_object('worker', worker, 'host', host, 'boot', boot, 'pid', pid,
                      'start_time', start_time, 'queues', queues, 'names', names, 'capabilities', capabilities, 'discoveries', discoveries,
                      'holdups', holdups) ORDER BY s.id), '[]') FROM gleaner.sessions s WHERE ended_at IS NULL) AS workers
     FROM gleaner.tasks t WHERE t.id = $1`,
    [rowid(id)],
  )
  if (row === undefined) return null
  const now = clockMs ?? row.now
  const key = row.key === null ? null : withoutMark(row.key)
  const holder = key === null ? undefined : (await holdersOf(sql, [key])).get(key)
  return {
    task: taskRecord(row, await lanes.get(row.lane), row.worker, now),
    now,
    held: row.fence !== null,
    suspect: row.suspect,
    cancelRequested: row.cancel_requested,
    everythingPaused: row.everything,
    queuePaused: row.queue_paused,
    keyHolder: holder === undefined || holder === row.id ? null : String(holder),
    workers: row.workers.map(serving),
  }
}

export async function readDemand(sql: Sql, clockMs: number | null): Promise<Demand> {
  const lanes = (await countByLane(sql, clockMs)).filter(({ queued }) => queued > 0)
  const words = await sql.rows<{ id: number; requires: string }>(
    'SELECT id, requires FROM gleaner.lanes WHERE id = ANY($1::bigint[])',
    [lanes.map(({ id }) => id)],
  )
  const requires = new Map(words.map((row) => [row.id, readRequirement(row.requires)]))
  const workers = await sql.rows<ServingRow>(
    `SELECT ${SERVING} FROM gleaner.sessions WHERE ended_at IS NULL ORDER BY id`,
  )
  return {
    waiting: lanes.map(({ id, queue, name, queued }) => ({
      queue,
      name,
      requires: requires.get(id) ?? null,
      count: queued,
    })),
    workers: workers.map(serving),
  }
}
