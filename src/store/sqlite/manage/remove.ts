import { isFinished, type TaskStatus } from '../../../model/task.ts'
import type { Statements } from '../file/statements.ts'
import { countAll, Tally } from '../tasks/tally.ts'

/** What belongs to a task and is nothing without it. A `forever` key is: it outlives its task. */
const BELONGINGS = ['gleaner_inputs', 'gleaner_logs', 'gleaner_attempts']

/** The same of tasks and rows. */
const OF_ITEMS = ['gleaner_steps', 'gleaner_waits', 'gleaner_signals']

/** Inside a write transaction: takes these tasks out, with all that belongs to them. No worker may hold one. */
export function removeRows(db: Statements, ids: readonly number[]): void {
  if (ids.length === 0) return
  const last = Math.max(...ids)
  // A counter must hold a task before it can be taken off.
  if (last > (db.scalar(`SELECT value FROM gleaner_meta WHERE key = 'counted_through'`).get() as number))
    countAll(db)
  const list = JSON.stringify(ids)
  const removed = db
    .sql(`DELETE FROM gleaner_tasks WHERE id IN (SELECT value FROM json_each(?)) RETURNING lane, status`)
    .all(list) as { lane: number; status: TaskStatus }[]
  for (const table of BELONGINGS) {
    db.sql(`DELETE FROM ${table} WHERE task IN (SELECT value FROM json_each(?))`).run(list)
  }
  for (const table of OF_ITEMS) {
    db.sql(`DELETE FROM ${table} WHERE item IN (SELECT CAST(value AS TEXT) FROM json_each(?))`).run(list)
  }
  db.sql(`UPDATE gleaner_meta SET value = max(value, ?) WHERE key = 'removed_through'`).run(last)
  const tally = new Tally()
  for (const { lane, status } of removed) {
    tally.add(lane, 'created', -1)
    if (status === 'scheduled' || status === 'suspended' || isFinished(status)) tally.add(lane, status, -1)
  }
  tally.write(db)
}
