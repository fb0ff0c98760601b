import { isFinished } from '../../../model/task.ts'
import type { CancelAnswer, RemoveAnswer, RetryAnswer } from '../../contract.ts'
import { KEY_WITHOUT_MARK } from '../../follower.ts'
import type { Statements } from '../file/statements.ts'
import type { Memory } from '../memory.ts'
import { holderOf } from '../tasks/enqueue.ts'
import { Tally } from '../tasks/tally.ts'
import { rowid, rowOf } from '../tasks/task-records.ts'
import { freeForeverKey, removeRows } from './remove.ts'

/** A finished task from the beginning: all its attempts again. One that crashed is run alone. */
export function retryTask(db: Statements, memory: Memory, id: string, now: number): RetryAnswer {
  const row = rowOf(db, id)
  if (row === undefined) return 'gone'
  const { status } = row
  if (!isFinished(status)) return 'not-finished'
  const holder = row.key === null ? null : holderOf(db, row.key)
  if (holder !== null && holder !== row.id) return { keyHeldBy: String(holder) }
  // Of an attempt that completed only the task's own row tells, which starts anew.
  db.sql(`INSERT INTO gleaner_attempts (task, attempt, session, outcome, started_at, finished_at)
          SELECT id, attempts, session, status, started_at, finished_at FROM gleaner_tasks
          WHERE id = ? AND status = 'completed'`).run(row.id)
  memory.queues.knowing()
  const rank = memory.queues.draw(memory.lanes.get(row.lane).queue, row.priority, now)
  db.sql(`UPDATE gleaner_tasks SET status = 'queued', rank = ?, run_after = NULL, attempts = 0, crashes = 0,
            suspect = ?, result = NULL, error = NULL, progress = NULL, progress_message = NULL, started_at = NULL,
            finished_at = NULL WHERE id = ?`).run(rank, row.crashes > 0 ? 1 : 0, row.id)
  return counted(
    db,
    (tally) => {
      tally.add(row.lane, status, -1)
      tally.arrived(row.lane)
    },
    'retried',
  )
}

/** What waits is cancelled at once; who holds it is asked to stop. */
export function cancelTask(db: Statements, id: string, now: number): CancelAnswer {
  const row = rowOf(db, id)
  if (row === undefined) return 'gone'
  if (isFinished(row.status)) return 'finished'
  if (row.fence !== null) {
    db.sql('UPDATE gleaner_tasks SET cancel_requested = 1 WHERE id = ?').run(row.id)
    return 'requested'
  }
  db.sql(
    `UPDATE gleaner_tasks SET status = 'cancelled', finished_at = ?, key = ${KEY_WITHOUT_MARK} WHERE id = ?`,
  ).run(now, row.id)
  return counted(
    db,
    (tally) => {
      tally.add(row.lane, 'cancelled', 1)
      if (row.status === 'scheduled') tally.add(row.lane, 'scheduled', -1)
    },
    'cancelled',
  )
}

/** With its logs, attempts, input and `forever` key. That key may be all that is left of it. */
export function removeTask(db: Statements, id: string): RemoveAnswer {
  const row = rowOf(db, id)
  if (row === undefined) return freeForeverKey(db, rowid(id)) ? 'removed' : 'gone'
  if (row.fence !== null) return 'running'
  removeRows(db, [row.id])
  freeForeverKey(db, row.id)
  return 'removed'
}

function counted<A>(db: Statements, count: (tally: Tally) => void, answer: A): A {
  const tally = new Tally()
  count(tally)
  tally.write(db)
  return answer
}
