import { PRIORITY_STEP, rankOf } from '../../model/rank.ts'
import { isFinished, type Page, type TaskRecord, type TaskStatus } from '../../model/task.ts'
import type { PageRequest, TaskFilter } from '../contract.ts'
import { readCursor, writeCursor } from '../cursor.ts'
import type { LaneBook } from './lanes.ts'
import type { Sql } from './sql.ts'
import { FULL, type FullRow, recordOf } from './task-records.ts'

/** Rows that one page looks at, at most, when its filter has no index: it may be short and still have a `next`. */
const SCAN_MAX = 10_000

/** What one listing reads of each lane: an index, in that index's order. */
interface Walk {
  /** `$3` and `$4` are the position after which to go on. */
  sources: string[]
  order: string
  first: [number, number]
  position: (row: FullRow) => [number, number]
}

export async function listTasks(
  sql: Sql,
  lanes: LaneBook,
  filter: TaskFilter,
  page: PageRequest,
  now: number,
): Promise<Page<TaskRecord>> {
  const among = (await lanes.matching(filter)).map((lane) => lane.id)
  if (filter.status === undefined) return newestFirst(sql, lanes, among, page, now)
  const walk = walkOf(filter.status, now)
  const [a = walk.first[0], b = walk.first[1]] = readCursor(page.cursor, 2)
  const reads = walk.sources.map(
    (source) => `SELECT t.* FROM unnest($1::int[]) l(lane), LATERAL (
       SELECT ${FULL} FROM gleaner.tasks t WHERE t.lane = l.lane AND ${source} ORDER BY ${walk.order} LIMIT $2) t`,
  )
  const rows = await sql.rows<FullRow>(
    `SELECT * FROM (${reads.join(' UNION ALL ')}) t WHERE $3::bigint IS NOT NULL AND $4::bigint IS NOT NULL
     ORDER BY ${walk.order} LIMIT $2`,
    [among, page.limit + 1, a, b],
  )
  const shown = rows.slice(0, page.limit)
  const last = shown.at(-1)
  return {
    items: await Promise.all(shown.map((row) => recordOf(lanes, row, now))),
    next: rows.length > page.limit && last !== undefined ? writeCursor(walk.position(last)) : null,
  }
}

/** Without a status: by id, newest first. */
async function newestFirst(
  sql: Sql,
  lanes: LaneBook,
  among: readonly number[],
  { limit, cursor }: PageRequest,
  now: number,
): Promise<Page<TaskRecord>> {
  const [before = Number.MAX_SAFE_INTEGER] = readCursor(cursor, 1)
  const rows = await sql.rows<FullRow>(
    `SELECT ${FULL} FROM (SELECT * FROM gleaner.tasks WHERE id < $1 ORDER BY id DESC LIMIT ${SCAN_MAX}) t
     WHERE lane = ANY($2) ORDER BY id DESC LIMIT $3`,
    [before, among, limit + 1],
  )
  const shown = rows.slice(0, limit)
  const last = rows.length > limit ? shown.at(-1)?.id : await endOfScan(sql, before)
  return {
    items: await Promise.all(shown.map((row) => recordOf(lanes, row, now))),
    next: last === undefined ? null : writeCursor([last]),
  }
}

/** Where a scan that filled no page ended, if there is more behind it. */
async function endOfScan(sql: Sql, before: number): Promise<number | undefined> {
  const row = await sql.row<{ id: number }>(
    `SELECT id FROM gleaner.tasks WHERE id < $1 ORDER BY id DESC OFFSET ${SCAN_MAX - 1} LIMIT 1`,
    [before],
  )
  return row?.id
}

const BEGINNING: [number, number] = [-1, 0]

function walkOf(status: TaskStatus, now: number): Walk {
  // The last to finish first.
  if (isFinished(status)) {
    return {
      sources: [`t.status = '${status}' AND t.finished_at IS NOT NULL AND (t.finished_at, t.id) < ($3, $4)`],
      order: 'finished_at DESC, id DESC',
      first: [Number.MAX_SAFE_INTEGER, Number.MAX_SAFE_INTEGER],
      position: (row) => [row.finished_at ?? 0, row.id],
    }
  }
  // The next to be due first.
  if (status === 'scheduled') {
    return {
      sources: [`t.status = 'scheduled' AND (t.run_after, t.id) > ($3, $4)`],
      order: 'run_after, id',
      first: [now, Number.MAX_SAFE_INTEGER],
      position: (row) => [row.run_after ?? 0, row.id],
    }
  }
  if (status === 'running') {
    return {
      sources: [`t.fence IS NOT NULL AND t.status = 'running' AND (t.started_at, t.id) > ($3, $4)`],
      order: 'started_at, id',
      first: BEGINNING,
      position: (row) => [row.started_at ?? 0, row.id],
    }
  }
  // In the order in which they will run; what is due but not yet moved, suspected or held ahead comes along.
  // A due one stands where its rank will put it, so that it does not move in the listing when it is moved.
  const place = `coalesce(rank, priority * ${PRIORITY_STEP} + run_after)`
  const waiting = [
    't.fence IS NULL AND NOT t.suspect',
    't.fence IS NULL AND t.suspect',
    't.fence IS NOT NULL',
  ]
  return {
    sources: [
      ...waiting.map((held) => `t.status = 'queued' AND ${held} AND (t.rank, t.id) > ($3, $4)`),
      `t.status = 'scheduled' AND t.run_after <= ${now} AND (${place}, t.id) > ($3, $4)`,
    ],
    order: `${place}, id`,
    first: BEGINNING,
    position: (row) => [row.rank ?? rankOf(row.priority, row.run_after ?? 0), row.id],
  }
}
