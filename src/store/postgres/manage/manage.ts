import { isFinished } from '../../../model/task.ts'
import type { CancelAnswer, RemoveAnswer, RetryAnswer } from '../../contract.ts'
import type { TaskRow } from '../../task-row.ts'
import type { Memory } from '../memory.ts'
import type { Sql } from '../server/sql.ts'
import { holdersOf } from '../tasks/enqueue.ts'
import { fileFinished, unfileFinished } from '../tasks/finished.ts'
import { Tally } from '../tasks/tally.ts'
import { rowid } from '../tasks/task-records.ts'
import { freeForeverKey, removeRows } from './remove.ts'

type Row = TaskRow & { fence: number | null; now: number }

/** Locked until the end of the transaction. */
async function rowOf(sql: Sql, id: string): Promise<Row | undefined> {
  return sql.row<Row>('SELECT *, gleaner.now_ms() AS now FROM gleaner.tasks WHERE id = $1 FOR UPDATE', [
    rowid(id),
  ])
}

/** A finished task from the beginning: all its attempts again. One that crashed is run alone. */
export async function retryTask(
  sql: Sql,
  { lanes, queues }: Memory,
  id: string,
  clockMs: number | null,
): Promise<RetryAnswer> {
  const row = await rowOf(sql, id)
  if (row === undefined) return 'gone'
  const { status, key, lane } = row
  if (!isFinished(status)) return 'not-finished'
  if (key !== null) {
    await sql.run('SELECT pg_catalog.pg_advisory_xact_lock(pg_catalog.hashtextextended($1, 7))', [key])
    const holder = (await holdersOf(sql, [key])).get(key)
    if (holder !== undefined && holder !== row.id) return { keyHeldBy: String(holder) }
  }
  // Of an attempt that completed only the task's own row tells, which starts anew.
  await sql.run(
    `INSERT INTO gleaner.attempts (task, attempt, session, outcome, started_at, finished_at)
     SELECT id, attempts, session, status, started_at, finished_at FROM gleaner.tasks
     WHERE id = $1 AND status = 'completed'`,
    [row.id],
  )
  await queues.known(sql)
  const { queue } = await lanes.get(lane, sql)
  const rank = await queues.draw(sql, { queue, priority: row.priority, queuedAtMs: clockMs ?? row.now })
  await unfileFinished(sql, [row])
  await sql.run(
    `UPDATE gleaner.tasks SET status = 'queued', in_line = true, active_key = key, rank = $1, run_after = NULL, attempts = 0, crashes = 0,
       suspect = crashes > 0, result = NULL, error = NULL, progress = NULL, progress_message = NULL, started_at = NULL,
       finished_at = NULL WHERE id = $2`,
    [rank, row.id],
  )
  const tally = new Tally()
  tally.add(lane, status, -1)
  tally.slots.arrived(lane)
  await tally.write(sql)
  await tally.slots.write(sql)
  return 'retried'
}

/** What waits is cancelled at once; who holds it is asked to stop. */
export async function cancelTask(sql: Sql, id: string, clockMs: number | null): Promise<CancelAnswer> {
  const row = await rowOf(sql, id)
  if (row === undefined) return 'gone'
  if (isFinished(row.status)) return 'finished'
  if (row.fence !== null) {
    await sql.run('UPDATE gleaner.tasks SET cancel_requested = true WHERE id = $1', [row.id])
    return 'requested'
  }
  const now = clockMs ?? row.now
  await fileFinished(sql, row.lane, 'cancelled', now, [row.id])
  await sql.run(
    `UPDATE gleaner.tasks SET status = 'cancelled', in_line = false, delayed = false, active_key = NULL, finished_at = $1
     WHERE id = $2`,
    [now, row.id],
  )
  const tally = new Tally()
  tally.add(row.lane, 'cancelled', 1)
  if (row.status === 'scheduled') tally.add(row.lane, 'scheduled', -1)
  await tally.write(sql)
  return 'cancelled'
}

/** With its logs, attempts and `forever` key. That key may be all that is left of it. */
export async function removeTask(sql: Sql, id: string): Promise<RemoveAnswer> {
  const row = await rowOf(sql, id)
  if (row === undefined) return (await freeForeverKey(sql, rowid(id))) ? 'removed' : 'gone'
  if (row.fence !== null) return 'running'
  await removeRows(sql, [row.id])
  await freeForeverKey(sql, row.id)
  return 'removed'
}
