import type { Demand } from '../../model/alerts.ts'
import type { Circumstances, Serving } from '../../model/explanation.ts'
import { withoutMark } from '../follower.ts'
import { readRequirement } from '../lane.ts'
import { SERVING, type ServingRow, serving } from '../serving-row.ts'
import type { Dialect } from '../sql/dialect.ts'
import { one, rows, type Script } from '../sql/script.ts'
import { sql, verbatim } from '../sql/sql.ts'
import { taskRecord } from '../task-row.ts'
import { readAwaited } from './awaited.ts'
import { countLanes, everythingIsPaused } from './counts.ts'
import { placeInOrder } from './order-keys.ts'
import type { ChangingTasks } from './task-changes.ts'
import { readTaskRow } from './task-records.ts'
import { waitsOf } from './waits.ts'

/** What decides whether a task can run now, except for limits. */
export function* readCircumstances(
  db: Dialect,
  { lane: laneWith, keyHolders }: ChangingTasks,
  id: number,
): Script<Omit<Circumstances, 'limits'> | null> {
  const row = yield* readTaskRow(db, id)
  if (row === undefined) return null
  const now = yield* db.time()
  const lane = yield* laneWith(row.lane)
  const key = row.key === null ? null : withoutMark(row.key)
  const holder = key === null ? undefined : (yield* keyHolders([key], false)).get(key)
  return {
    task: taskRecord(row, lane, row.worker, now),
    now,
    held: row.fence !== null,
    // On SQLite a higher number says that it waits behind others.
    suspect: Number(row.suspect) === 1,
    cancelRequested: Boolean(row.cancel_requested),
    waits: yield* waitsOf(String(row.id)),
    waitsFor: row.status === 'suspended' ? yield* readAwaited(row.id) : [],
    everythingPaused: yield* everythingIsPaused(db),
    queuePaused: yield* isQueuePaused(lane.queue),
    keyHolder: holder === undefined || holder === String(row.id) ? null : holder,
    inOrder: yield* placeInOrder(db, id),
    workers: yield* readServing(),
  }
}

function* isQueuePaused(queue: string): Script<boolean> {
  const row = yield* one<{ paused: number | boolean }>(
    sql`SELECT paused FROM gleaner.queues WHERE name = ${queue}`,
  )
  return Boolean(row?.paused)
}

export function* readServing(): Script<Serving[]> {
  const live = yield* rows<ServingRow>(
    sql`SELECT ${verbatim(SERVING)} FROM gleaner.sessions WHERE ended_at IS NULL ORDER BY id`,
  )
  return live.map(serving)
}

/** What waits, and the workers that are there for it. */
export function* readDemand(db: Dialect): Script<Demand> {
  const lanes = (yield* countLanes(db)).filter(({ queued }) => queued > 0)
  const waiting = lanes.map(({ queue, name, requires, queued }) => ({
    queue,
    name,
    requires: readRequirement(requires),
    count: queued,
  }))
  return { waiting, workers: yield* readServing() }
}
