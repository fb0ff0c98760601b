import { isLastFirst, placeOfDue } from '../../../model/rank.ts'
import { LISTED_BYTES_MAX } from '../../../model/shortened.ts'
import type { FinishedStatus, Page, TaskRecord, TaskStatus } from '../../../model/task.ts'
import type { PageRequest, TaskFilter } from '../../contract.ts'
import type { Lane } from '../../lane.ts'
import { PageScan } from '../../page-scan.ts'
import {
  createdRange,
  errorNeedle,
  finishedRange,
  hasText,
  isSelective,
  type Route,
  routeOf,
  storedKeys,
} from '../../task-filter.ts'
import { type ListedRow, listed, listedColumns, statusOf, type TaskRow } from '../../task-row.ts'
import type { Statements } from '../file/statements.ts'
import type { Memory } from '../memory.ts'
import { INPUT_ELSEWHERE } from '../tasks/enqueue.ts'
import { recordOf } from '../tasks/task-records.ts'

/** A large input stands in a table of its own. */
const LISTED = listedColumns(`CASE WHEN t.input = '${INPUT_ELSEWHERE}'
  THEN (SELECT octet_length(i.input) FROM gleaner_inputs i WHERE i.task = t.id) ELSE octet_length(t.input) END`)

/** A listing walks an index in that index's order: every page costs the same, however many tasks there are. */
interface Walk {
  /** The numbers of a place. */
  size: number
  /** The rows after a place, in order. */
  rows(after: number[], count: number): PassedRow[]
  position(row: PassedRow): number[]
}

/** As much of a row as it takes to pass it. */
type PassedRow = Pick<
  TaskRow,
  | 'id'
  | 'lane'
  | 'status'
  | 'priority'
  | 'rank'
  | 'created_at'
  | 'run_after'
  | 'started_at'
  | 'finished_at'
  | 'key'
  | 'error'
>

/** What a walk needs to know. */
interface Listing {
  db: Statements
  memory: Memory
  lanes: readonly Lane[]
  filter: TaskFilter
  now: number
  /** The columns of a `PassedRow`, and what is to be bound for them. */
  columns: string
  bound: readonly string[]
}

export function listTasks(
  db: Statements,
  memory: Memory,
  filter: TaskFilter,
  page: PageRequest,
  now: number,
): Page<TaskRecord> {
  const rows = db.sql(`SELECT ${LISTED} FROM gleaner_tasks t WHERE t.id = ?`)
  const records = new Map<number, TaskRecord>()
  const read = (id: number) => {
    const row = rows.get(id) as ListedRow
    const isLarge = row.input_bytes !== null && row.input_bytes > LISTED_BYTES_MAX
    const record = listed(recordOf(db, memory.lanes, isLarge ? { ...row, input: null } : row, now), row)
    records.set(id, record)
    return record
  }
  const { ids, next } = listIds(db, memory, filter, page, now, read)
  return { items: ids.map((id) => records.get(id)!), next }
}

export function listIds(
  db: Statements,
  memory: Memory,
  filter: TaskFilter,
  page: PageRequest,
  now: number,
  carried?: (id: number) => unknown,
): { ids: number[]; next: string | null } {
  const among = memory.lanes.matching(filter)
  const route = routeOf(filter)
  const walk = walkOf({ db, memory, lanes: among, filter, now, ...columnsOf(filter) }, route)
  const fits = fitting(filter, among)
  const scan = new PageScan<number>(page, { size: walk.size, selective: isSelective(filter, route), carried })
  for (let look = scan.look; look !== null; look = scan.look) {
    const rows = walk.rows(look.after, look.count)
    scan.saw(rows.map((row) => ({ at: walk.position(row), row: fits(row) ? row.id : null })))
  }
  return { ids: scan.rows, next: scan.next }
}

/** Of an error only what may have the text: they can be long. */
function columnsOf(filter: TaskFilter): Pick<Listing, 'columns' | 'bound'> {
  const needle = errorNeedle(filter)
  const error = needle === null ? 'NULL' : 'iif(instr(lower(error), ?) > 0, error, NULL)'
  return {
    columns: `id, lane, status, priority, rank, created_at, run_after, started_at, finished_at, key, ${error} AS error`,
    bound: needle === null ? [] : [needle],
  }
}

function fitting(filter: TaskFilter, among: readonly Lane[]): (row: PassedRow) => boolean {
  const lanes = new Set(among.map((lane) => lane.id))
  const keys = storedKeys(filter, among)
  const { from, to } = createdRange(filter)
  return ({ lane, key, created_at, error }) =>
    lanes.has(lane) &&
    (keys === null || (key !== null && keys.includes(key))) &&
    created_at >= from &&
    created_at < to &&
    hasText(error, filter)
}

function walkOf(listing: Listing, route: Route): Walk {
  switch (route.by) {
    case 'newest':
      return newestWalk(listing)
    case 'key':
      return keyWalk(listing, route.status)
    case 'finished':
      return finishedWalk(listing, route.statuses)
    case 'scheduled':
      return scheduledWalk(listing)
    case 'running':
      return runningWalk(listing)
    case 'queued':
      return queuedWalk(listing)
  }
}

/** Each of them is in order already. */
function merged(walk: Pick<Walk, 'position'>, parts: PassedRow[][], count: number): PassedRow[] {
  return parts
    .flat()
    .map((row) => ({ row, at: walk.position(row) }))
    .sort((a, b) => a.at[0]! - b.at[0]! || a.at[1]! - b.at[1]!)
    .slice(0, count)
    .map(({ row }) => row)
}

function newestWalk({ db, columns, bound }: Listing): Walk {
  return {
    size: 1,
    rows: ([before = Number.MAX_SAFE_INTEGER], count) =>
      db
        .sql(`SELECT ${columns} FROM gleaner_tasks WHERE id < ? ORDER BY id DESC LIMIT ?`)
        .all(...bound, before, count) as PassedRow[],
    position: (row) => [row.id],
  }
}

/** At most one unfinished task of each name has it. */
function keyWalk({ db, lanes, filter, now, columns, bound }: Listing, status: TaskStatus): Walk {
  return {
    size: 1,
    rows: ([before = Number.MAX_SAFE_INTEGER], count) =>
      (storedKeys(filter, lanes) ?? [])
        .flatMap(
          (key) =>
            db
              .sql(`SELECT ${columns} FROM gleaner_tasks
                    WHERE key = ? AND status IN ('scheduled', 'queued', 'running')`)
              .all(...bound, key) as PassedRow[],
        )
        .filter((row) => row.id < before && statusOf(row, now) === status)
        .sort((a, b) => b.id - a.id)
        .slice(0, count),
    position: (row) => [row.id],
  }
}

/** The last to finish first. */
function finishedWalk(
  { db, lanes, filter, columns, bound }: Listing,
  statuses: readonly FinishedStatus[],
): Walk {
  const { from, to } = finishedRange(filter)
  const position = (row: PassedRow) => [-(row.finished_at ?? 0), -row.id]
  const part = (lane: Lane, status: FinishedStatus, at: number, id: number, count: number) =>
    db
      .sql(`SELECT ${columns} FROM gleaner_tasks WHERE lane = ? AND status = ? AND finished_at IS NOT NULL
              AND finished_at >= ? AND (finished_at, id) < (?, ?) ORDER BY finished_at DESC, id DESC LIMIT ?`)
      .all(...bound, lane.id, status, from, -at, -id, count) as PassedRow[]
  return {
    size: 2,
    rows: ([at = -to, id = 0], count) =>
      merged(
        { position },
        lanes.flatMap((lane) => statuses.map((status) => part(lane, status, at, id, count))),
        count,
      ),
    position,
  }
}

/** The next to be due first: one index for all lanes. */
function scheduledWalk({ db, now, columns, bound }: Listing): Walk {
  return {
    size: 2,
    rows: ([at = now, id = Number.MAX_SAFE_INTEGER], count) =>
      db
        .sql(`SELECT ${columns} FROM gleaner_tasks WHERE status = 'scheduled'
                AND run_after >= ? AND (run_after, id) > (?, ?) ORDER BY run_after, id LIMIT ?`)
        .all(...bound, at, at, id, count) as PassedRow[],
    position: (row) => [row.run_after ?? 0, row.id],
  }
}

/** Few at any time. */
function runningWalk({ db, lanes, columns, bound }: Listing): Walk {
  const position = (row: PassedRow) => [row.started_at ?? 0, row.id]
  return {
    size: 2,
    rows: ([at = 0, id = 0], count) =>
      merged(
        { position },
        lanes.map(
          (lane) =>
            db
              .sql(`SELECT ${columns} FROM gleaner_held WHERE status = 'running' AND lane = ?
                      AND (started_at, id) > (?, ?) ORDER BY started_at, id LIMIT ?`)
              .all(...bound, lane.id, at, id, count) as PassedRow[],
        ),
        count,
      ),
    position,
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
function queuedWalk({ db, memory, lanes, now, columns, bound }: Listing): Walk {
  const { queues } = memory
  queues.knowing()
  const queueOf = (lane: number) => queues.of(memory.lanes.get(lane).queue)
  const first = Number.MIN_SAFE_INTEGER
  const position = (row: PassedRow) => {
    const queue = queueOf(row.lane)
    const { base, step, perMs } = placeOfDue(queue)
    const sign = isLastFirst(queue) ? -1 : 1
    return [sign * (row.rank ?? base + row.priority * step + (row.run_after ?? 0) * perMs), sign * row.id]
  }
  const parts = (lane: Lane, rank: number, id: number, count: number): PassedRow[][] => {
    const queue = queueOf(lane.id)
    const [sign, beyond, back] = isLastFirst(queue) ? [-1, '<', 'DESC'] : [1, '>', '']
    const waiting = QUEUED.map((source) =>
      db
        .sql(`SELECT ${columns} FROM ${source} AND rank ${beyond}= ? AND (rank, id) ${beyond} (?, ?)
              ORDER BY rank ${back}, id ${back} LIMIT ?`)
        .all(...bound, lane.id, sign * rank, sign * rank, sign * id, count),
    )
    const { base, step, perMs } = placeOfDue(queue)
    const due = db
      .sql(`SELECT ${columns} FROM (SELECT *, ? + priority * ? + run_after * ? AS place FROM gleaner_tasks
              WHERE status = 'scheduled' AND run_after <= ? AND lane = ?)
            WHERE (place, id) ${beyond} (?, ?) ORDER BY place ${back}, id ${back} LIMIT ?`)
      .all(...bound, base, step, perMs, now, lane.id, sign * rank, sign * id, count)
    return [...waiting, due] as PassedRow[][]
  }
  return {
    size: 2,
    rows: ([rank = first, id = first], count) =>
      merged(
        { position },
        lanes.flatMap((lane) => parts(lane, rank, id, count)),
        count,
      ),
    position,
  }
}
