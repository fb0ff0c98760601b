import { PRIORITY_STEP, rankOf } from '../../model/rank.ts'
import { isFinished, type Page, type TaskRecord, type TaskStatus } from '../../model/task.ts'
import type { PageRequest, TaskFilter } from '../contract.ts'
import { readCursor, writeCursor } from '../cursor.ts'
import type { Lane } from '../lane.ts'
import { pageOf, type TaskRow } from '../task-row.ts'
import type { LaneCache } from './lanes.ts'
import type { Statements } from './statements.ts'
import { recordOf } from './task-records.ts'

/** Rows that one page looks at, at most, when its filter has no index: it may be short and still have a `next`. */
const SCAN_MAX = 10_000

/** A listing walks an index in that index's order: every page costs the same, however many tasks there are. */
interface Walk {
  /** The rows after `position`, at most `limit` of one lane. */
  rows(lane: Lane, position: number[], limit: number): TaskRow[]
  position(row: TaskRow): [number, number]
}

export function listTasks(
  db: Statements,
  lanes: LaneCache,
  filter: TaskFilter,
  page: PageRequest,
  now: number,
): Page<TaskRecord> {
  const among = lanes.matching(filter)
  const record = (row: TaskRow) => recordOf(db, lanes, row, now)
  if (filter.status === undefined) return newestFirst(db, among, filter, page, record)
  const walk = walkOf(db, filter.status, now)
  const position = readCursor(page.cursor, 2)
  const rows = among
    .flatMap((lane) => walk.rows(lane, position, page.limit + 1))
    .map((row) => ({ row, at: walk.position(row) }))
    .sort((a, b) => a.at[0] - b.at[0] || a.at[1] - b.at[1])
    .map(({ row }) => row)
  return pageOf(rows.slice(0, page.limit + 1), page.limit, record, (last) => writeCursor(walk.position(last)))
}

/** Without a status: by id, newest first. */
function newestFirst(
  db: Statements,
  among: readonly Lane[],
  filter: TaskFilter,
  { limit, cursor }: PageRequest,
  record: (row: TaskRow) => TaskRecord,
): Page<TaskRecord> {
  const [before = Number.MAX_SAFE_INTEGER] = readCursor(cursor, 1)
  const everything = filter.queue === undefined && filter.name === undefined
  const wanted = new Set(among.map((lane) => lane.id))
  const items: TaskRow[] = []
  let last = 0
  let seen = 0
  const walk = db.sql('SELECT * FROM gleaner_tasks WHERE id < ? ORDER BY id DESC')
  for (const row of walk.iterate(before) as Iterable<TaskRow>) {
    if (items.length === limit || seen === SCAN_MAX) {
      return { items: items.map(record), next: writeCursor([last]) }
    }
    last = row.id
    seen += 1
    if (everything || wanted.has(row.lane)) items.push(row)
  }
  return { items: items.map(record), next: null }
}

function walkOf(db: Statements, status: TaskStatus, now: number): Walk {
  if (isFinished(status)) return finishedWalk(db, status)
  if (status === 'scheduled') return scheduledWalk(db, now)
  return status === 'running' ? runningWalk(db) : queuedWalk(db, now)
}

/** The last to finish first. */
function finishedWalk(db: Statements, status: TaskStatus): Walk {
  return {
    rows: (lane, [at = Number.MIN_SAFE_INTEGER, id = Number.MIN_SAFE_INTEGER], limit) =>
      db
        .sql(`SELECT * FROM gleaner_tasks WHERE lane = ? AND status = ? AND finished_at IS NOT NULL
                AND (finished_at, id) < (?, ?) ORDER BY finished_at DESC, id DESC LIMIT ?`)
        .all(lane.id, status, -at, -id, limit) as TaskRow[],
    position: (row) => [-(row.finished_at ?? 0), -row.id],
  }
}

/** The next to be due first. */
function scheduledWalk(db: Statements, now: number): Walk {
  return {
    rows: (lane, [at = now, id = Number.MAX_SAFE_INTEGER], limit) =>
      db
        .sql(`SELECT * FROM gleaner_tasks WHERE status = 'scheduled' AND lane = ?
                AND run_after >= ? AND (run_after, id) > (?, ?) ORDER BY run_after, id LIMIT ?`)
        .all(lane.id, at, at, id, limit) as TaskRow[],
    position: (row) => [row.run_after ?? 0, row.id],
  }
}

/** Few at any time. */
function runningWalk(db: Statements): Walk {
  return {
    rows: (lane, [at = 0, id = 0], limit) =>
      db
        .sql(`SELECT * FROM gleaner_held WHERE status = 'running' AND lane = ?
                AND (started_at, id) > (?, ?) ORDER BY started_at, id LIMIT ?`)
        .all(lane.id, at, id, limit) as TaskRow[],
    position: (row) => [row.started_at ?? 0, row.id],
  }
}

/** The rank a due task will get: so it stands at the same place of the listing before and after it is moved. */
const DUE_RANK = `priority * ${PRIORITY_STEP} + run_after`

/** In the order in which they will run; what is due but not yet moved, suspected or held ahead comes along. */
function queuedWalk(db: Statements, now: number): Walk {
  const sources = [
    `gleaner_tasks WHERE status = 'queued' AND fence IS NULL AND suspect = 0 AND lane = ?`,
    `gleaner_tasks WHERE status = 'queued' AND fence IS NULL AND suspect = 1 AND lane = ?`,
    `gleaner_held WHERE status = 'queued' AND lane = ?`,
  ]
  return {
    rows: (lane, [rank = -1, id = 0], limit) => [
      ...sources.flatMap(
        (source) =>
          db
            .sql(`SELECT * FROM ${source} AND rank >= ? AND (rank, id) > (?, ?)
                  ORDER BY rank, id LIMIT ?`)
            .all(lane.id, rank, rank, id, limit) as TaskRow[],
      ),
      ...(db
        .sql(`SELECT * FROM (SELECT *, ${DUE_RANK} AS due_rank FROM gleaner_tasks
                WHERE status = 'scheduled' AND run_after <= ? AND lane = ?)
              WHERE (due_rank, id) > (?, ?) ORDER BY due_rank, id LIMIT ?`)
        .all(now, lane.id, rank, id, limit) as TaskRow[]),
    ],
    position: (row) => [row.rank ?? rankOf(row.priority, row.run_after ?? 0), row.id],
  }
}
