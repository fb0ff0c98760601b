import type { QueueRecord, Strategy } from '../../model/queue.ts'
import { type Counts, TASK_STATUSES } from '../../model/task.ts'
import { isMatch, readRequirement } from '../lane.ts'
import type { LaneFilter } from '../ports/tasks.ts'
import { plainQueue, QUEUE_COLUMNS, type QueueRow, queueOf, queueRecord } from '../queue-row.ts'
import type { Dialect } from '../sql/dialect.ts'
import { change, one, rows, type Script } from '../sql/script.ts'
import { type Fragment, sql, verbatim } from '../sql/sql.ts'

interface LaneCounts extends Counts {
  id: number
  queue: string
  name: string
  /** As the lane has it. */
  requires: string
}

const COUNTERS = ['created', 'scheduled', 'suspended', 'completed', 'failed', 'cancelled']

/** Not a join: with statistics SQLite would join in an order that reads all lanes for each lane. */
function summed(counters: readonly string[]): Fragment {
  const sums = counters.map((counter) => `CAST(pg_catalog.sum(${counter}) AS bigint) AS ${counter}`)
  const names = ['queue', 'name', 'requires'].map((name) => `pg_catalog.max(${name}) AS ${name}`)
  return verbatim(['lane AS id', ...names, ...sums].join(', '))
}

/** Lanes with the number of their tasks of each state that has a counter. */
export function laneCounters({ schema }: Dialect): Fragment {
  return sql`(SELECT ${summed(COUNTERS)} FROM (${schema.counterParts}) AS parts GROUP BY lane)`
}

/** One statement, and so one moment: the counters, what runs, and what is due. */
export function countLanes({ schema, now }: Dialect): Script<LaneCounts[]> {
  return rows<LaneCounts>(sql`
    SELECT id, queue, name, requires, scheduled - due AS scheduled, running, suspended - timed_out AS suspended, completed, failed, cancelled,
      created - scheduled - suspended - completed - failed - cancelled - running + due + timed_out AS queued
    FROM (SELECT ${summed([...COUNTERS, 'running', 'due', 'timed_out'])} FROM (
      SELECT lane, queue, name, requires, created, scheduled, suspended, completed, failed, cancelled, 0 AS running,
        0 AS due, 0 AS timed_out
      FROM (${schema.counterParts}) AS counters
      UNION ALL
      SELECT lane, NULL, NULL, NULL, 0, 0, 0, 0, 0, 0, pg_catalog.count(*), 0, 0 FROM gleaner.held WHERE status = 'running' GROUP BY lane
      UNION ALL
      SELECT t.lane, NULL, NULL, NULL, 0, 0, 0, 0, 0, 0, 0, pg_catalog.count(*) FILTER (WHERE t.status = 'scheduled'),
        pg_catalog.count(*) FILTER (WHERE t.status = 'suspended') FROM gleaner.tasks AS t
      WHERE ${schema.delayed} AND t.run_after <= (SELECT ${now}) GROUP BY t.lane) AS parts GROUP BY lane) AS lanes`)
}

export function* countTasks(db: Dialect, filter: LaneFilter): Script<Counts> {
  const lanes = yield* countLanes(db)
  return sumOf(lanes.filter((lane) => isMatch({ ...lane, requires: readRequirement(lane.requires) }, filter)))
}

/** Every queue that holds a task, was ever paused or has an order of its own. */
export function* listQueues(db: Dialect): Script<QueueRecord[]> {
  const lanes = yield* countLanes(db)
  const found = yield* rows<QueueRow>(sql`SELECT ${verbatim(QUEUE_COLUMNS)} FROM gleaner.queues`)
  const everything = yield* everythingIsPaused(db)
  const known = new Map(found.map((row) => [row.name, queueOf(row)]))
  const chosen = yield* chosenOrders()
  const byQueue = Map.groupBy(lanes, ({ queue }) => queue)
  const names = new Set([...byQueue.keys(), ...known.keys()])
  return [...names].sort().map((name) => {
    const queue = known.get(name) ?? plainQueue(name)
    const counts = sumOf(byQueue.get(name) ?? [])
    return queueRecord({ ...queue, paused: everything || queue.paused }, counts, chosen.get(name) ?? [])
  })
}

/** By queue, the live workers that serve it in an order of their own. */
function* chosenOrders(): Script<Map<string, QueueRecord['chosen']>> {
  const live = yield* rows<{ worker: string; strategies: string }>(sql`
    SELECT worker, strategies FROM gleaner.sessions WHERE ended_at IS NULL AND strategies IS NOT NULL ORDER BY worker, id`)
  const byQueue = new Map<string, QueueRecord['chosen']>()
  for (const { worker, strategies } of live) {
    for (const [queue, strategy] of Object.entries(JSON.parse(strategies) as Record<string, Strategy>))
      byQueue.set(queue, [...(byQueue.get(queue) ?? []), { worker, strategy }])
  }
  return byQueue
}

const NONE: Counts = {
  scheduled: 0,
  queued: 0,
  running: 0,
  suspended: 0,
  completed: 0,
  failed: 0,
  cancelled: 0,
}

function sumOf(counts: readonly Counts[]): Counts {
  const sum = { ...NONE }
  for (const more of counts) for (const status of TASK_STATUSES) sum[status] += more[status]
  return sum
}

export function* everythingIsPaused({ schema }: Dialect): Script<boolean> {
  const row = yield* one<{ value: number }>(sql`SELECT value FROM ${schema.settings} WHERE key = 'paused'`)
  return row?.value !== 0
}

/** A queue, or with null everything. */
export function* setPaused(db: Dialect, queue: string | null, paused: boolean): Script<void> {
  if (queue === null) {
    const value = paused ? 1 : 0
    yield* change(sql`UPDATE ${db.schema.settings} SET value = ${value} WHERE key = 'paused'`)
    return
  }
  // First: every change of settings locks this row before others, so that two of them never wait for each other.
  yield* noteQueueChange(db)
  yield* change(sql`
    INSERT INTO gleaner.queues (name, paused) VALUES (${queue}, ${paused})
    ON CONFLICT (name) DO UPDATE SET paused = excluded.paused`)
}

/** Stores read the settings of queues again when this number has changed. */
export function noteQueueChange({ schema }: Dialect): Script<number> {
  return change(sql`UPDATE ${schema.settings} SET value = value + 1 WHERE key = 'queues'`)
}
