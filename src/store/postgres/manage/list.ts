import { isLastFirst, placeOfDue } from '../../../model/rank.ts'
import type { FinishedStatus, Page, TaskRecord, TaskStatus } from '../../../model/task.ts'
import type { PageRequest, TaskFilter } from '../../contract.ts'
import type { Lane } from '../../lane.ts'
import { PageScan, type Passed } from '../../page-scan.ts'
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
import { type ListedRow, listed, listedColumns, type TaskRow } from '../../task-row.ts'
import type { Memory } from '../memory.ts'
import type { QueueBook } from '../order/queue-book.ts'
import type { Sql } from '../server/sql.ts'
import { HELD } from '../tasks/batches.ts'
import { type FullRow, recordOf, WORKER } from '../tasks/task-records.ts'

type Listed = FullRow & ListedRow

const LISTED = `${listedColumns('pg_catalog.octet_length(t.input)')}, ${WORKER}`

/** What one listing reads: an index, in that index's order. */
interface Walk {
  /** Rows of tasks as `t`, after the place ($3, $4), in order, $2 at most of each source. $1: the lanes. */
  sources: string[]
  /** The place of a row: this, and among equals this. */
  place: string
  tie?: string
  descending: boolean
  first: readonly [number, number]
}

export async function listTasks(
  sql: Sql,
  { lanes, queues }: Memory,
  filter: TaskFilter,
  page: PageRequest,
  now: number,
): Promise<Page<TaskRecord>> {
  const among = await lanes.matching(filter)
  await queues.refresh()
  const scan = await scanTasks<Listed>(sql, queues, among, filter, page, now, LISTED)
  return scan.page(
    await Promise.all(scan.rows.map(async (row) => listed(await recordOf(lanes, row, now), row))),
  )
}

type Scanned = Pick<TaskRow, 'error'>

/** Each look is one statement, and so one moment. */
export async function scanTasks<Row extends Scanned>(
  sql: Sql,
  queues: QueueBook,
  among: readonly Lane[],
  filter: TaskFilter,
  page: PageRequest,
  now: number,
  columns: string,
): Promise<PageScan<Row>> {
  const route = routeOf(filter)
  const walk = route.by === 'queued' ? queuedWalk(queues, among, now) : walkOf(route, filter, now)
  const scan = new PageScan<Row>(page, {
    size: 2,
    selective: isSelective(filter, route),
    carried: (row) => row,
  })
  for (let look = scan.look; look !== null; look = scan.look) {
    const [place = walk.first[0], id = walk.first[1]] = look.after
    scan.saw(await passedBy(sql, walk, filter, among, [look.count, place, id], columns))
  }
  return scan
}

async function passedBy<Row extends Scanned>(
  sql: Sql,
  { sources, place, tie = 'u.id', descending }: Walk,
  filter: TaskFilter,
  among: readonly Lane[],
  look: readonly number[],
  columns: string,
): Promise<Passed<Row>[]> {
  const { from, to } = createdRange(filter)
  const order = (row: string) => (descending ? `${row}place DESC, ${row}tie DESC` : `${row}place, ${row}tie`)
  const union = sources.map((source) => `(${source})`).join(' UNION ALL ')
  // Whole rows only of those that fit: the others may be large, and many.
  const rows = await sql.rows<Row & { passed_place: number; passed_tie: number; fits: boolean }>(
    `SELECT p.place AS passed_place, p.tie AS passed_tie, p.fits, t.* FROM (
       SELECT u.id, ${place} AS place, ${tie} AS tie,
              lane = ANY($1::int[]) AND created_at >= $5::bigint AND created_at < $6::bigint
              AND ($7::text[] IS NULL OR coalesce(key = ANY($7), false))
              AND ($8::text IS NULL OR coalesce(position($8 IN pg_catalog.lower(error COLLATE "C")) > 0, false)) AS fits
       FROM (${union}) u WHERE $3::bigint IS NOT NULL AND $4::bigint IS NOT NULL ORDER BY ${order('')} LIMIT $2) p
     LEFT JOIN LATERAL (SELECT ${columns} FROM gleaner.tasks t WHERE t.id = p.id AND p.fits) t ON true
     ORDER BY ${order('p.')}`,
    [among.map((lane) => lane.id), ...look, from, to, storedKeys(filter, among), errorNeedle(filter)],
  )
  return rows.map((row) => ({
    at: [row.passed_place, row.passed_tie],
    row: row.fits && hasText(row.error, filter) ? row : null,
  }))
}

const BEGINNING = [-1, 0] as const
const END = [Number.MAX_SAFE_INTEGER, Number.MAX_SAFE_INTEGER] as const

/** As much of a row as it takes to pass it. */
const PASSED =
  't.id, t.lane, t.priority, t.rank, t.created_at, t.run_after, t.started_at, t.finished_at, t.key, t.error'

function walkOf(route: Exclude<Route, { by: 'queued' }>, filter: TaskFilter, now: number): Walk {
  switch (route.by) {
    case 'newest':
      return newestWalk('true')
    case 'key':
      return newestWalk(`t.active_key = ANY($7) AND ${inStatus(route.status, now)}`)
    case 'finished':
      return finishedWalk(route.statuses, filter)
    case 'scheduled':
      return scheduledWalk(now)
    case 'running':
      return runningWalk()
  }
}

function inEachLane(condition: string, order: string, from = 'gleaner.tasks t', lanes = '$1::int[]'): string {
  return `SELECT t.* FROM pg_catalog.unnest(${lanes}) l(lane), LATERAL (
    SELECT ${PASSED} FROM ${from} WHERE t.lane = l.lane AND ${condition} ORDER BY ${order} LIMIT $2) t`
}

function acrossLanes(condition: string, order: string): string {
  return `SELECT ${PASSED} FROM gleaner.tasks t WHERE ${condition} ORDER BY ${order} LIMIT $2`
}

/** As everybody sees it. */
function inStatus(status: TaskStatus, now: number): string {
  const due = `t.delayed AND t.run_after <= ${now}`
  const words: Partial<Record<TaskStatus, string>> = {
    scheduled: `t.status = 'scheduled' AND t.run_after > ${now}`,
    queued: `(t.status = 'queued' OR ${due})`,
  }
  return words[status] ?? `t.status = '${status}'`
}

/** By id, the newest first. */
function newestWalk(condition: string): Walk {
  return {
    sources: [acrossLanes(`t.id < $3 AND ${condition}`, 't.id DESC')],
    place: 'u.id',
    descending: true,
    first: END,
  }
}

/**
 * Those that ended together are a row: the rows are in order, and what is in them is put in order as it is read. OFFSET keeps
 * the planner from reading the whole table for a join.
 */
const FINISHED = `gleaner.finished f CROSS JOIN LATERAL pg_catalog.unnest(f.tasks) one(id) CROSS JOIN LATERAL (
  SELECT * FROM gleaner.tasks WHERE tasks.id = one.id AND tasks.finished_at = f.finished_at OFFSET 0) t`

/** The last to finish first. */
function finishedWalk(statuses: readonly FinishedStatus[], filter: TaskFilter): Walk {
  const { from, to } = finishedRange(filter)
  return {
    sources: statuses.map((status) =>
      inEachLane(
        `f.lane = l.lane AND f.status = '${status}' AND f.finished_at <= $3 AND f.finished_at >= ${from}
         AND (t.finished_at, t.id) < ($3, $4)`,
        'f.finished_at DESC, t.id DESC',
        FINISHED,
      ),
    ),
    place: 'finished_at',
    descending: true,
    first: [to, 0],
  }
}

/** The next to be due first: one index for all lanes. */
function scheduledWalk(now: number): Walk {
  return {
    sources: [
      acrossLanes(`t.delayed AND t.run_after >= $3 AND (t.run_after, t.id) > ($3, $4)`, 't.run_after, t.id'),
    ],
    place: 'run_after',
    descending: false,
    first: [now, Number.MAX_SAFE_INTEGER],
  }
}

/** Few at any time. */
function runningWalk(): Walk {
  return {
    sources: [
      inEachLane(
        `${HELD} AND t.status = 'running' AND (t.started_at, t.id) > ($3, $4)`,
        't.started_at, t.id',
      ),
    ],
    place: 'started_at',
    descending: false,
    first: BEGINNING,
  }
}

/** Simply waiting, suspected or held ahead. */
const QUEUED = ['t.in_line AND NOT t.suspect', 't.in_line AND t.suspect', `${HELD} AND t.status = 'queued'`]

/**
 * In the order in which they will run; what is due but not yet moved comes along, where its rank will put it, so that it
 * does not move in the listing when it is moved. A queue that is worked off from its end is listed from there: its
 * positions count backwards.
 */
function queuedWalk(queues: QueueBook, among: readonly Lane[], now: number): Walk {
  const places = among.map(({ id, queue }) => {
    const ranking = queues.of(queue)
    return { lane: id, ...placeOfDue(ranking), sign: isLastFirst(ranking) ? -1 : 1 }
  })
  const cases = places.map(({ lane, base, step, perMs, sign }) => {
    return `WHEN ${lane} THEN ${sign} * coalesce(rank, ${base} + priority * ${step}::bigint + run_after * ${perMs})`
  })
  const place = cases.length === 0 ? '0::bigint' : `CASE lane ${cases.join(' ')} END`
  const lanesOf = (wanted: number) => places.filter(({ sign }) => sign === wanted).map(({ lane }) => lane)
  const sources = [1, -1].flatMap((sign) => {
    // Only in its own lanes: in the others the walk would find nothing, and look at everything.
    const lanes = `'{${lanesOf(sign).join()}}'::int[]`
    const inMine = (condition: string, order: string) => inEachLane(condition, order, undefined, lanes)
    const beyond = sign === 1 ? '(t.rank, t.id) > ($3, $4)' : '(t.rank, t.id) < (-$3::bigint, -$4::bigint)'
    const down = sign === 1 ? '' : 'DESC'
    const due = `t.delayed AND t.run_after <= ${now} AND (${place}, ${sign} * id) > ($3, $4)`
    return [
      ...QUEUED.map((which) => inMine(`${which} AND ${beyond}`, `rank ${down}, id ${down}`)),
      inMine(due, `${place}, ${sign} * id`),
    ]
  })
  return {
    sources,
    place,
    tie: `CASE WHEN lane = ANY('{${lanesOf(-1).join()}}') THEN -id ELSE id END`,
    descending: false,
    first: [Number.MIN_SAFE_INTEGER, Number.MIN_SAFE_INTEGER],
  }
}
