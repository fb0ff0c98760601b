import type { QueueRecord } from '../../../model/queue.ts'
import { type Counts, TASK_STATUSES } from '../../../model/task.ts'
import type { Lane } from '../../lane.ts'
import { queueRecord } from '../../queue-row.ts'
import type { Statements } from '../file/statements.ts'
import type { Memory } from '../memory.ts'
import { noteChange } from './ordering.ts'

const NONE: Counts = { scheduled: 0, queued: 0, running: 0, completed: 0, failed: 0, cancelled: 0 }

/** Per lane, by the counters and what they leave out; the view gleaner_lane_counts says the same with SQL's clock. */
export function countByLane(db: Statements, now: number): Map<number, Counts> {
  const rows = db
    .sql('SELECT id, created, scheduled, completed, failed, cancelled FROM gleaner_lanes')
    .all() as {
    id: number
    created: number
    scheduled: number
    completed: number
    failed: number
    cancelled: number
  }[]
  const uncounted = perLane(
    db
      .sql(`SELECT lane, count(*) AS n FROM gleaner_tasks
            WHERE id > (SELECT value FROM gleaner_meta WHERE key = 'counted_through') GROUP BY lane`)
      .all(),
  )
  const running = perLane(
    db.sql(`SELECT lane, count(*) AS n FROM gleaner_held WHERE status = 'running' GROUP BY lane`).all(),
  )
  const due = perLane(
    db
      .sql(
        `SELECT lane, count(*) AS n FROM gleaner_tasks WHERE status = 'scheduled' AND run_after <= ? GROUP BY lane`,
      )
      .all(now),
  )
  return new Map(
    rows.map(({ id, created, ...counters }) => {
      const existing = created + (uncounted.get(id) ?? 0)
      const { scheduled, completed, failed, cancelled } = counters
      const unfinished = existing - completed - failed - cancelled
      const inFlight = running.get(id) ?? 0
      const late = due.get(id) ?? 0
      const queued = unfinished - scheduled - inFlight + late
      return [id, { scheduled: scheduled - late, queued, running: inFlight, completed, failed, cancelled }]
    }),
  )
}

function perLane(rows: unknown[]): Map<number, number> {
  return new Map((rows as { lane: number; n: number }[]).map(({ lane, n }) => [lane, n]))
}

export function countTasks(db: Statements, among: readonly Lane[], now: number): Counts {
  const byLane = countByLane(db, now)
  return among.reduce((sum, lane) => added(sum, byLane.get(lane.id) ?? NONE), NONE)
}

function added(a: Counts, b: Counts): Counts {
  return Object.fromEntries(TASK_STATUSES.map((status) => [status, a[status] + b[status]])) as Counts
}

/** Every queue that holds a task, was ever paused or has an order of its own. */
export function listQueues(db: Statements, { lanes, queues }: Memory, now: number): QueueRecord[] {
  const byLane = countByLane(db, now)
  queues.knowing()
  const everything = everythingIsPaused(db)
  const all = lanes.matching({})
  const names = new Set([...all.map((lane) => lane.queue), ...queues.all().map((queue) => queue.name)])
  return [...names].sort().map((name) => {
    const queue = queues.of(name)
    const counts = all
      .filter((lane) => lane.queue === name)
      .reduce((sum, lane) => added(sum, byLane.get(lane.id) ?? NONE), NONE)
    return queueRecord({ ...queue, paused: everything || queue.paused }, counts)
  })
}

export function everythingIsPaused(db: Statements): boolean {
  return db.scalar(`SELECT value FROM gleaner_meta WHERE key = 'paused'`).get() !== 0
}

export function setPaused(db: Statements, queue: string | null, paused: boolean): void {
  const value = paused ? 1 : 0
  if (queue === null) db.sql(`UPDATE gleaner_meta SET value = ? WHERE key = 'paused'`).run(value)
  else {
    db.sql(`INSERT INTO gleaner_queues (name, paused) VALUES (?, ?)
            ON CONFLICT (name) DO UPDATE SET paused = excluded.paused`).run(queue, value)
    noteChange(db)
  }
}
