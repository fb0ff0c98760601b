import { isFinished, type TaskStatus } from '../../model/task.ts'
import { type Ended, unfileFinished } from './finished.ts'
import type { Sql } from './sql.ts'
import { Tally } from './tally.ts'

interface Removed extends Ended {
  status: TaskStatus
}

/** What belongs to a task and is nothing without it. A `forever` key is: it outlives its task. */
const BELONGINGS = ['logs', 'attempts']

/** In a transaction that has locked them: takes these tasks out, with all that belongs to them. Nobody may hold one. */
export async function removeRows(sql: Sql, ids: readonly number[]): Promise<void> {
  if (ids.length === 0) return
  const removed = await sql.rows<Removed>(
    'DELETE FROM gleaner.tasks WHERE id = ANY($1::bigint[]) RETURNING id, lane, status, finished_at',
    [ids],
  )
  await unfileFinished(sql, removed)
  for (const table of BELONGINGS) {
    await sql.run(`DELETE FROM gleaner.${table} WHERE task = ANY($1::bigint[])`, [ids])
  }
  const tally = new Tally()
  for (const { lane, status } of removed) {
    tally.add(lane, 'created', -1)
    if (status === 'scheduled' || isFinished(status)) tally.add(lane, status, -1)
  }
  await tally.write(sql)
}

/** Whether there was one. */
export async function freeForeverKey(sql: Sql, task: string | number): Promise<boolean> {
  return (await sql.run('DELETE FROM gleaner.forever_keys WHERE task = $1', [task])) > 0
}
