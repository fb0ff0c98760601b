import { isLastFirst, placeOfDue } from '../../model/rank.ts'
import { LISTED_BYTES_MAX, shortened } from '../../model/shortened.ts'
import type { FinishedStatus, Page, TaskRecord, TaskStatus } from '../../model/task.ts'
import type { Lane } from '../lane.ts'
import { type Look, PageScan, type Passed } from '../page-scan.ts'
import type { PageRequest } from '../ports/page.ts'
import type { TaskFilter } from '../ports/tasks.ts'
import { plainQueue, type Queue } from '../queue-row.ts'
import type { Dialect } from '../sql/dialect.ts'
import { rows, type Script } from '../sql/script.ts'
import { type Fragment, joined, sql, verbatim } from '../sql/sql.ts'
import {
  createdRange,
  errorNeedle,
  type FilterRoute,
  filterRouteOf,
  finishedRange,
  hasText,
  isSelective,
  startedBefore,
  storedKeys,
} from '../task-filter.ts'
import { type TaskRow, taskRecord } from '../task-row.ts'
import { type Known, TASK, WORKER } from './task-records.ts'

/** A task's row as a list reads it: what has more bytes than `LISTED_BYTES_MAX` is not read. */
interface ListedRow extends TaskRow {
  input_bytes: number | null
  result_bytes: number | null
  worker: string | null
}

export function* listTasks(
  db: Dialect,
  known: Known,
  filter: TaskFilter,
  page: PageRequest,
): Script<Page<TaskRecord>> {
  const lanes = yield* known.lanesMatching(filter)
  const now = yield* db.time()
  const scan = yield* scanTasks<ListedRow>(db, known, { filter, page, lanes, now }, listedColumns(db))
  const byId = new Map(lanes.map((lane) => [lane.id, lane]))
  return scan.page(
    scan.rows.map((row) => shortenedRecord(taskRecord(row, byId.get(row.lane)!, row.worker, now), row)),
  )
}

function listedColumns({ schema }: Dialect): Fragment {
  const short = (value: Fragment) =>
    sql`CASE WHEN pg_catalog.octet_length(${value}) <= ${verbatim(String(LISTED_BYTES_MAX))} THEN ${value} END`
  const result = sql`t.result`
  return sql`${TASK}, ${WORKER}, ${short(schema.input)} AS input, pg_catalog.octet_length(${schema.input}) AS input_bytes,
    ${short(result)} AS result, pg_catalog.octet_length(${result}) AS result_bytes`
}

function shortenedRecord(record: TaskRecord, { input_bytes, result_bytes }: ListedRow): TaskRecord {
  const short = (value: unknown, bytes: number | null) =>
    bytes !== null && bytes > LISTED_BYTES_MAX ? shortened(bytes) : value
  return { ...record, input: short(record.input, input_bytes), result: short(record.result, result_bytes) }
}

/** What one page is asked of. */
export interface Scanned {
  filter: TaskFilter
  page: PageRequest
  lanes: readonly Lane[]
  now: number
}

/**
 * Walks an index in that index's order, so that every page costs the same, however many tasks there are. Each look is one
 * statement, and so sees one moment. `columns`: of tasks `t` that the filter names, with `error`.
 */
export function* scanTasks<Row extends Pick<TaskRow, 'error'>>(
  db: Dialect,
  known: Known,
  { filter, page, lanes, now }: Scanned,
  columns: Fragment,
): Script<PageScan<Row>> {
  const route = filterRouteOf(filter)
  const queues = route.by === 'queued' ? yield* known.queues() : undefined
  const passed = passedColumns(filter, now)
  const ranking = (queue: string) => queues?.of(queue) ?? plainQueue(queue)
  const listing = { db, filter, lanes, now, ranking, passed }
  const walk = walkOf(listing, route)
  const scan = new PageScan<Row>(page, {
    size: 2,
    selective: isSelective(filter, route),
    carried: (row) => row,
  })
  for (let look = scan.look; look !== null; look = scan.look) {
    scan.saw(yield* passedBy<Row>(listing, walk, look, columns))
  }
  return scan
}

interface Listing {
  db: Dialect
  filter: TaskFilter
  lanes: readonly Lane[]
  now: number
  ranking: (queue: string) => Queue
  /** The columns of a row that it takes to pass it. */
  passed: Fragment
}

/** What one listing reads: indexes, in one order. */
interface Walk {
  first: Place
  descending?: boolean
  /** Each selects `passed` with `place` and `tie`, behind a place and in order, `count` rows at most. */
  sources(after: Place, count: number): Fragment[]
}

/** Where a row stands in the order, and where it stands among equals. */
type Place = readonly [place: number, tie: number]

const BEGINNING: Place = [-1, 0]
const END: Place = [Number.MAX_SAFE_INTEGER, Number.MAX_SAFE_INTEGER]

function* passedBy<Row extends Pick<TaskRow, 'error'>>(
  listing: Listing,
  { first, descending = false, sources }: Walk,
  { after, count }: Look,
  columns: Fragment,
): Script<Passed<Row>[]> {
  const [place = first[0], tie = first[1]] = after
  const union = sources([place, tie], count).map((source) => sql`SELECT * FROM (${source}) AS source`)
  const down = verbatim(descending ? 'DESC' : '')
  // Whole rows only of those that fit: the others may be large, and many.
  const found = yield* rows<Row & { passed_place: number; passed_tie: number; fits: number | boolean }>(sql`
    SELECT p.place AS passed_place, p.tie AS passed_tie, p.fits, w.* FROM (
      SELECT u.id, u.place, u.tie, ${fits(listing)} AS fits
      FROM (${joined(union, ' UNION ALL ')}) AS u ORDER BY u.place ${down}, u.tie ${down} LIMIT ${count}) AS p
    LEFT JOIN (SELECT ${columns} FROM gleaner.tasks AS t) AS w ON w.id = p.id AND p.fits
    ORDER BY p.place ${down}, p.tie ${down}`)
  return found.map((row) => ({
    at: [row.passed_place, row.passed_tie],
    row: row.fits && hasText(row.error, listing.filter) ? row : null,
  }))
}

/** As far as SQL can tell; `hasText` decides about the text of an error. */
function fits({ db, filter, lanes, now }: Listing): Fragment {
  const { from, to } = createdRange(filter)
  const keys = storedKeys(filter, lanes)
  const needle = errorNeedle(filter)
  const started = startedBefore(filter, now)
  const conditions = [
    sql`u.lane ${db.oneOf(lanes.map(({ id }) => id))}`,
    sql`u.created_at >= ${from} AND u.created_at < ${to}`,
    ...(started === null ? [] : [sql`coalesce(u.started_at < ${started}, ${FALSE})`]),
    ...(keys === null ? [] : [sql`coalesce(u.key ${db.oneOf(keys)}, ${FALSE})`]),
    ...(needle === null ? [] : [sql`coalesce(${db.holds(sql`u.error`, needle)}, ${FALSE})`]),
  ]
  return joined(conditions, ' AND ')
}

const FALSE = verbatim('false')

/** Errors can be long, so they are carried along only if their text decides. */
function passedColumns(filter: TaskFilter, now: number): Fragment {
  const columns = [
    sql`t.id, t.lane, t.created_at, t.key`,
    ...(startedBefore(filter, now) === null ? [] : [sql`t.started_at`]),
    ...(errorNeedle(filter) === null ? [] : [sql`t.error`]),
  ]
  return joined(columns, ', ')
}

function walkOf(listing: Listing, route: FilterRoute): Walk {
  switch (route.by) {
    case 'newest':
      return newestWalk(listing, sql`true`)
    case 'key':
      return keyWalk(listing, route.status)
    case 'finished':
      return finishedWalk(listing, route.statuses)
    case 'scheduled':
      return scheduledWalk(listing)
    case 'suspended':
      return suspendedWalk(listing)
    case 'parent':
      return parentWalk(listing, route)
    case 'running':
      return runningWalk(listing)
    case 'queued':
      return queuedWalk(listing)
  }
}

function newestWalk({ passed }: Listing, condition: Fragment): Walk {
  return {
    first: END,
    descending: true,
    sources: ([before], count) => [
      sql`SELECT ${passed}, t.id AS place, t.id AS tie FROM gleaner.tasks AS t
        WHERE t.id < ${before} AND ${condition} ORDER BY t.id DESC LIMIT ${count}`,
    ],
  }
}

/** The newest first, found by the flows of the parent. */
function parentWalk(
  { passed, now }: Listing,
  { parent, status }: Extract<FilterRoute, { by: 'parent' }>,
): Walk {
  const condition = status === null ? sql`true` : inStatus(status, now)
  return {
    first: END,
    descending: true,
    sources: ([before], count) => [
      sql`SELECT ${passed}, t.id AS place, t.id AS tie
        FROM gleaner.flows AS f JOIN gleaner.flow_members AS m ON m.flow = f.id JOIN gleaner.tasks AS t ON t.id = m.task
        WHERE f.waiter = ${parent} AND m.task < ${before} AND ${condition} ORDER BY m.task DESC LIMIT ${count}`,
    ],
  }
}

/** At most one unfinished task of each name has the key, and at most one waits for it. */
function keyWalk(listing: Listing, status: TaskStatus): Walk {
  const { db, filter, lanes, now } = listing
  const keys = storedKeys(filter, lanes) ?? []
  return newestWalk(listing, sql`${db.schema.hasActiveKey(keys)} AND ${inStatus(status, now)}`)
}

/** A scheduled task that is due counts as queued, and so does a suspended one whose wait has timed out. */
function inStatus(status: TaskStatus, now: number): Fragment {
  if (status === 'scheduled') return sql`t.status = 'scheduled' AND t.run_after > ${now}`
  if (status === 'suspended')
    return sql`t.status = 'suspended' AND (t.run_after IS NULL OR t.run_after > ${now})`
  if (status === 'queued')
    return sql`(t.status = 'queued' OR (t.status IN ('scheduled', 'suspended') AND t.run_after <= ${now}))`
  return sql`t.status = ${status}`
}

/** The last to finish first. */
function finishedWalk({ db, filter, lanes, passed }: Listing, statuses: readonly FinishedStatus[]): Walk {
  const { from, to } = finishedRange(filter)
  const { finished } = db.schema
  return {
    first: [to, 0],
    descending: true,
    sources: ([at, id], count) =>
      statuses.map((status) =>
        db.headOfEach({
          lanes: givenLanes(db, lanes),
          from: finished.from,
          where: sql`${finished.withStatus(status)} AND ${finished.at} <= ${at} AND ${finished.at} >= ${from}
            AND (t.finished_at, t.id) < (${at}, ${id})`,
          order: sql`${finished.at} DESC, t.id DESC`,
          count,
          columns: sql`${passed}, t.finished_at AS place, t.id AS tie`,
        }),
      ),
  }
}

function givenLanes(db: Dialect, lanes: readonly Lane[]): Fragment {
  return db.given('l', [{ name: 'lane', type: 'integer', values: lanes.map(({ id }) => id) }])
}

/** The next to be due first: one index for all lanes. */
function scheduledWalk({ db, now, passed }: Listing): Walk {
  return {
    first: [now, Number.MAX_SAFE_INTEGER],
    sources: ([at, id], count) => [
      sql`SELECT ${passed}, t.run_after AS place, t.id AS tie FROM gleaner.tasks AS t
        WHERE ${db.schema.scheduled} AND t.run_after >= ${at} AND (t.run_after, t.id) > (${at}, ${id})
        ORDER BY t.run_after, t.id LIMIT ${count}`,
    ],
  }
}

/** The last to be enqueued first: found by what they wait for. */
function suspendedWalk({ now, passed }: Listing): Walk {
  return {
    first: END,
    descending: true,
    sources: ([before], count) => [
      sql`SELECT ${passed}, t.id AS place, t.id AS tie FROM (
          SELECT DISTINCT task FROM gleaner.waits JOIN gleaner.tasks AS s ON s.id = task
          WHERE task < ${before} AND (s.run_after IS NULL OR s.run_after > ${now})
          ORDER BY task DESC LIMIT ${count}) AS w
        JOIN gleaner.tasks AS t ON t.id = w.task`,
    ],
  }
}

/** Few at any time: they are found by their workers. */
function runningWalk({ db, lanes, passed }: Listing): Walk {
  return {
    first: BEGINNING,
    sources: ([at, id], count) => [
      sql`SELECT ${passed}, t.started_at AS place, t.id AS tie FROM gleaner.held AS t
        WHERE t.status = 'running' AND t.lane ${db.oneOf(lanes.map((lane) => lane.id))}
          AND (t.started_at, t.id) > (${at}, ${id}) ORDER BY t.started_at, t.id LIMIT ${count}`,
    ],
  }
}

/**
 * In the order in which they will run. A task that is due and was not moved yet stands where its rank will put it, so that it
 * does not move in the listing when it is moved. A queue that is worked off from its end is listed from there: its
 * positions count backwards.
 */
function queuedWalk({ db, lanes, now, ranking, passed }: Listing): Walk {
  const backwards = (lane: Lane) => isLastFirst(ranking(lane.queue))
  const directions = [
    { sign: 1, lanes: lanes.filter((lane) => !backwards(lane)) },
    ...(lanes.some(backwards) ? [{ sign: -1, lanes: lanes.filter(backwards) }] : []),
  ]
  return {
    first: [Number.MIN_SAFE_INTEGER, Number.MIN_SAFE_INTEGER],
    sources: (after, count) =>
      directions.flatMap(({ sign, lanes }) => {
        const places = givenPlaces(db, lanes, ranking)
        return queuedSources(db, { places, sign, now, passed }, after, count)
      }),
  }
}

/** What the rank of a due task follows from, for each lane. */
function givenPlaces(db: Dialect, lanes: readonly Lane[], ranking: Listing['ranking']): Fragment {
  const places = lanes.map((lane) => placeOfDue(ranking(lane.queue)))
  return db.given('l', [
    { name: 'lane', type: 'integer', values: lanes.map(({ id }) => id) },
    { name: 'base', type: 'bigint', values: places.map(({ base }) => base) },
    { name: 'step', type: 'bigint', values: places.map(({ step }) => step) },
    { name: 'per_ms', type: 'bigint', values: places.map(({ perMs }) => perMs) },
  ])
}

interface Direction {
  places: Fragment
  /** -1: backwards. */
  sign: number
  now: number
  passed: Fragment
}

function queuedSources(
  db: Dialect,
  { places, sign, now, passed }: Direction,
  [place, tie]: Place,
  count: number,
): Fragment[] {
  const times = verbatim(sign === 1 ? '' : '-1 * ')
  const columns = (rank: Fragment) => sql`${passed}, ${times}${rank} AS place, ${times}t.id AS tie`
  const [beyond, down] = sign === 1 ? [verbatim('>'), verbatim('')] : [verbatim('<'), verbatim('DESC')]
  const behind = sql`t.rank ${beyond}= ${sign * place} AND (t.rank, t.id) ${beyond} (${sign * place}, ${sign * tie})`
  const inOrder = sql`${db.schema.behind} AND t.status = 'queued'`
  const waiting = [db.schema.ready, db.schema.suspect, inOrder].map((state) =>
    db.headOfEach({
      lanes: places,
      from: sql`gleaner.tasks AS t`,
      where: sql`${state} AND ${behind}`,
      order: sql`t.rank ${down}, t.id ${down}`,
      count,
      columns: columns(sql`t.rank`),
    }),
  )
  const held = sql`SELECT ${columns(sql`t.rank`)} FROM ${places} CROSS JOIN gleaner.held AS t
    WHERE t.lane = l.lane AND t.status = 'queued' AND ${behind} ORDER BY place, tie LIMIT ${count}`
  const rank = sql`(l.base + t.priority * l.step + t.run_after * l.per_ms)`
  const due = sql`SELECT ${columns(rank)} FROM ${places} CROSS JOIN gleaner.tasks AS t
    WHERE t.lane = l.lane AND ${db.schema.delayed} AND t.run_after <= ${now}
      AND (${times}${rank}, ${times}t.id) > (${place}, ${tie}) ORDER BY place, tie LIMIT ${count}`
  return [...waiting, held, due]
}
