import { isLastFirst, placeOfDue } from '../../model/rank.ts'
import { isFinished, type Page, type TaskRecord, type TaskStatus } from '../../model/task.ts'
import type { PageRequest, TaskFilter } from '../contract.ts'
import { readCursor, writeCursor } from '../cursor.ts'
import type { Lane } from '../lane.ts'
import { pageOf, type TaskRow } from '../task-row.ts'
import type { Memory } from './memory.ts'
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
  memory: Memory,
  filter: TaskFilter,
  page: PageRequest,
  now: number,
): Page<TaskRecord> {
  const { lanes } = memory
  const among = lanes.matching(filter)
  const record = (row: TaskRow) => recordOf(db, lanes, row, now)
  if (filter.status === undefined) return newestFirst(db, among, filter, page, record)
  const walk = walkOf(db, memory, filter.status, now)
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

function walkOf(db: Statements, memory: Memory, status: TaskStatus, now: number): Walk {
  if (isFinished(status)) return finishedWalk(db, status)
  if (status === 'scheduled') return scheduledWalk(db, now)
  return status === 'running' ? runningWalk(db) : queuedWalk(db, memory, now)
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

/** Held ahead, suspected or simply waiting. */
const QUEUED = [
  `gleaner_tasks WHERE status = 'queued' AND fence IS NULL AND suspect = 0 AND lane = ?`,
  `gleaner_tasks WHERE status = 'queued' AND fence IS NULL AND suspect = 1 AND lane = ?`,
  `gleaner_held WHERE status = 'queued' AND lane = ?`,
]

/**
 * In the order in which they will run; what is due but not yet moved comes along, where its rank will put it, so that it
 * does not move in the listing when it is moved. A queue that is worked off from its end is listed from there: its
 * positions count backwards.
 */
function queuedWalk(db: Statements, { lanes, queues }: Memory, now: number): Walk {
  queues.knowing()
  const queueOf = (lane: number) => queues.of(lanes.get(lane).queue)
  const first = Number.MIN_SAFE_INTEGER
  return {
    rows(lane, [rank = first, id = first], limit) {
      const queue = queueOf(lane.id)
      const [sign, beyond, back] = isLastFirst(queue) ? [-1, '<', 'DESC'] : [1, '>', '']
      const waiting = QUEUED.flatMap((source) =>
        db
          .sql(`SELECT * FROM ${source} AND rank ${beyond}= ? AND (rank, id) ${beyond} (?, ?)
                ORDER BY rank ${back}, id ${back} LIMIT ?`)
          .all(lane.id, sign * rank, sign * rank, sign * id, limit),
      )
      const { base, step, perMs } = placeOfDue(queue)
      const due = db
        .sql(`SELECT * FROM (SELECT *, ? + priority * ? + run_after * ? AS place FROM gleaner_tasks
                WHERE status = 'scheduled' AND run_after <= ? AND lane = ?)
              WHERE (place, id) ${beyond} (?, ?) ORDER BY place ${back}, id ${back} LIMIT ?`)
        .all(base, step, perMs, now, lane.id, sign * rank, sign * id, limit)
      return [...waiting, ...due] as TaskRow[]
    },
    position(row) {
      const queue = queueOf(row.lane)
      const { base, step, perMs } = placeOfDue(queue)
      const sign = isLastFirst(queue) ? -1 : 1
      return [sign * (row.rank ?? base + row.priority * step + (row.run_after ?? 0) * perMs), sign * row.id]
    },
  }
}
