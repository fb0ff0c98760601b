import type { QueueRecord } from '../../../model/queue.ts'
import { type Counts, TASK_STATUSES } from '../../../model/task.ts'
import type { LaneFilter } from '../../contract.ts'
import { plainQueue, QUEUE_COLUMNS, type QueueRow, queueOf, queueRecord } from '../../queue-row.ts'
import type { Sql } from '../server/sql.ts'
import { noteChange } from './ordering.ts'

const NONE: Counts = { scheduled: 0, queued: 0, running: 0, completed: 0, failed: 0, cancelled: 0 }

type LaneCounts = Counts & { id: number; queue: string; name: string }

/** One statement, so one moment (of which the index is asked, not each delayed task): counters, what was not yet added to them, what runs, and what is due. */
export async function countByLane(sql: Sql, clockMs: number | null): Promise<LaneCounts[]> {
  return sql.rows<LaneCounts>(
    `WITH sums AS (
       SELECT id, queue, name, pg_catalog.sum(created) AS created, pg_catalog.sum(scheduled) AS scheduled, pg_catalog.sum(completed) AS completed,
              pg_catalog.sum(failed) AS failed, pg_catalog.sum(cancelled) AS cancelled
       FROM (SELECT id, created, scheduled, completed, failed, cancelled FROM gleaner.lanes
             UNION ALL SELECT lane, created, scheduled, completed, failed, cancelled FROM gleaner.tallies) parts
       JOIN (SELECT id, queue, name FROM gleaner.lanes) lanes USING (id) GROUP BY id, queue, name
     ), running AS (
       SELECT lane, pg_catalog.count(*) AS n FROM gleaner.held WHERE status = 'running' GROUP BY lane
     ), due AS (
       SELECT lane, pg_catalog.count(*) AS n FROM gleaner.tasks
       WHERE delayed AND run_after <= (SELECT coalesce($1::bigint, gleaner.now_ms())) GROUP BY lane
     )
     SELECT id, queue, name, scheduled - coalesce(due.n, 0) AS scheduled, coalesce(running.n, 0) AS running,
            created - scheduled - completed - failed - cancelled - coalesce(running.n, 0) + coalesce(due.n, 0) AS queued,
            completed, failed, cancelled
     FROM sums LEFT JOIN running ON running.lane = id LEFT JOIN due ON due.lane = id`,
    [clockMs],
  )
}

function sumOf(counts: readonly Counts[]): Counts {
  return counts.reduce(
    (sum, more) => Object.fromEntries(TASK_STATUSES.map((s) => [s, sum[s] + more[s]])) as Counts,
    NONE,
  )
}

export async function countTasks(
  sql: Sql,
  { queue, name }: LaneFilter,
  clockMs: number | null,
): Promise<Counts> {
  const lanes = await countByLane(sql, clockMs)
  return sumOf(
    lanes.filter(
      (l) => (queue === undefined || l.queue === queue) && (name === undefined || l.name === name),
    ),
  )
}

/** Every queue that holds a task, was ever paused or has an order of its own. */
export async function listQueues(sql: Sql, clockMs: number | null): Promise<QueueRecord[]> {
  const lanes = await countByLane(sql, clockMs)
  const rows = await sql.rows<QueueRow>(`SELECT ${QUEUE_COLUMNS} FROM gleaner.queues`)
  const everything = await everythingIsPaused(sql)
  const known = new Map(rows.map((row) => [row.name, queueOf(row)]))
  const names = new Set([...lanes.map((lane) => lane.queue), ...known.keys()])
  return [...names].sort().map((name) => {
    const queue = known.get(name) ?? plainQueue(name)
    const paused = everything || queue.paused
    return queueRecord({ ...queue, paused }, sumOf(lanes.filter((lane) => lane.queue === name)))
  })
}

export async function everythingIsPaused(sql: Sql): Promise<boolean> {
  const row = await sql.row<{ value: number }>(`SELECT value FROM gleaner.settings WHERE key = 'paused'`)
  return row?.value !== 0
}

export async function setPaused(sql: Sql, queue: string | null, paused: boolean): Promise<void> {
  if (queue === null) {
    await sql.run(`UPDATE gleaner.settings SET value = $1 WHERE key = 'paused'`, [paused ? 1 : 0])
    return
  }
  // First, as everybody does who changes settings, so that nobody waits for somebody who waits for him.
  await noteChange(sql)
  await sql.run(
    `INSERT INTO gleaner.queues (name, paused) VALUES ($1, $2)
     ON CONFLICT (name) DO UPDATE SET paused = excluded.paused`,
    [queue, paused],
  )
}
