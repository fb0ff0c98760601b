import type { Demand } from '../../../model/alerts.ts'
import type { Circumstances, Serving } from '../../../model/explanation.ts'
import { withoutMark } from '../../follower.ts'
import type { Lane } from '../../lane.ts'
import { SERVING, type ServingRow, serving } from '../../serving-row.ts'
import type { Statements } from '../file/statements.ts'
import { countByLane } from '../order/queues.ts'
import { holderOf } from '../tasks/enqueue.ts'
import type { LaneCache } from '../tasks/lanes.ts'
import { recordOf, rowOf } from '../tasks/task-records.ts'

export function readCircumstances(
  db: Statements,
  lanes: LaneCache,
  id: string,
  now: number,
): Omit<Circumstances, 'limits'> | null {
  const row = rowOf(db, id)
  if (row === undefined) return null
  const task = recordOf(db, lanes, row, now)
  const holder = row.key === null ? null : holderOf(db, withoutMark(row.key))
  return {
    task,
    now,
    held: row.fence !== null,
    suspect: row.suspect === 1,
    cancelRequested: row.cancel_requested === 1,
    everythingPaused: db.scalar(`SELECT value FROM gleaner_meta WHERE key = 'paused'`).get() !== 0,
    queuePaused: db.scalar('SELECT paused FROM gleaner_queues WHERE name = ?').get(task.queue) === 1,
    keyHolder: holder === null || holder === row.id ? null : String(holder),
    workers: readServing(db),
  }
}

function readServing(db: Statements): Serving[] {
  const rows = db
    .sql(`SELECT ${SERVING} FROM gleaner_sessions WHERE ended_at IS NULL ORDER BY id`)
    .all() as ServingRow[]
  return rows.map(serving)
}

export function readDemand(db: Statements, lanes: readonly Lane[], now: number): Demand {
  const counts = countByLane(db, now)
  return {
    waiting: lanes
      .map(({ id, queue, name, requires }) => ({ queue, name, requires, count: counts.get(id)!.queued }))
      .filter(({ count }) => count > 0),
    workers: readServing(db),
  }
}
