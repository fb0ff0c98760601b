import { isLastFirst, placeOfDue } from '../../model/rank.ts'
import { isFinished, type Page, type TaskRecord, type TaskStatus } from '../../model/task.ts'
import type { PageRequest, TaskFilter } from '../contract.ts'
import { readCursor, writeCursor } from '../cursor.ts'
import type { Lane } from '../lane.ts'
import { HELD } from './batches.ts'
import type { LaneBook } from './lanes.ts'
import type { Memory } from './memory.ts'
import type { QueueBook } from './queue-book.ts'
import type { Sql } from './sql.ts'
import { FULL, type FullRow, recordOf } from './task-records.ts'

/** Rows that one page looks at, at most, when its filter has no index: it may be short and still have a `next`. */
const SCAN_MAX = 10_000

/** What one listing reads of each lane: an index, in that index's order. */
interface Walk {
  /** `$3` and `$4` are the position after which to go on. */
  sources: { from?: string; which: string; order: string }[]
  order: string
  first: [number, number]
  position: (row: FullRow) => [number, number]
}

export async function listTasks(
  sql: Sql,
  { lanes, queues }: Memory,
  filter: TaskFilter,
  page: PageRequest,
  now: number,
): Promise<Page<TaskRecord>> {
  const matching = await lanes.matching(filter)
  const among = matching.map((lane) => lane.id)
  if (filter.status === undefined) return newestFirst(sql, lanes, among, page, now)
  await queues.refresh()
  const walk = filter.status === 'queued' ? queuedWalk(queues, matching, now) : walkOf(filter.status, now)
  const [a = walk.first[0], b = walk.first[1]] = readCursor(page.cursor, 2)
  const reads = walk.sources.map(
    ({ from = 'gleaner.tasks t', which, order }) => `SELECT t.* FROM unnest($1::int[]) l(lane), LATERAL (
       SELECT ${FULL} FROM ${from} WHERE t.lane = l.lane AND ${which} ORDER BY ${order} LIMIT $2) t`,
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

/** Those that ended together are a row: the rows are in order, and what is in them is put in order as it is read. */
const FINISHED = `gleaner.finished f CROSS JOIN LATERAL unnest(f.tasks) one(id)
  JOIN gleaner.tasks t ON t.id = one.id AND t.finished_at = f.finished_at`

function walkOf(status: Exclude<TaskStatus, 'queued'>, now: number): Walk {
  // The last to finish first.
  if (isFinished(status)) {
    return oneSource({
      from: FINISHED,
      which: `f.lane = l.lane AND f.status = '${status}' AND f.finished_at <= $3 AND (t.finished_at, t.id) < ($3, $4)`,
      order: 't.finished_at DESC, t.id DESC',
      first: [Number.MAX_SAFE_INTEGER, Number.MAX_SAFE_INTEGER],
      position: (row) => [row.finished_at ?? 0, row.id],
    })
  }
  // The next to be due first.
  if (status === 'scheduled') {
    return oneSource({
      which: 't.delayed AND (t.run_after, t.id) > ($3, $4)',
      order: 'run_after, id',
      first: [now, Number.MAX_SAFE_INTEGER],
      position: (row) => [row.run_after ?? 0, row.id],
    })
  }
  return oneSource({
    which: `${HELD} AND t.status = 'running' AND (t.started_at, t.id) > ($3, $4)`,
    order: 'started_at, id',
    first: [-1, 0],
    position: (row) => [row.started_at ?? 0, row.id],
  })
}

function oneSource({ from, which, order, ...walk }: Omit<Walk, 'sources'> & Walk['sources'][number]): Walk {
  return { sources: [{ from, which, order }], order, ...walk }
}

/** Simply waiting, suspected or held ahead. */
const QUEUED = ['t.in_line AND NOT t.suspect', 't.in_line AND t.suspect', `${HELD} AND t.status = 'queued'`]

/**
 * In the order in which they will run; what is due but not yet moved comes along, where its rank will put it, so that it
 * does not move in the listing when it is moved. A queue that is worked off from its end is listed from there: its
 * positions count backwards.
 */
function queuedWalk(queues: QueueBook, among: readonly Lane[], now: number): Walk {
  const places = new Map(
    among.map(({ id, queue }) => {
      const ranking = queues.of(queue)
      return [id, { ...placeOfDue(ranking), sign: isLastFirst(ranking) ? -1 : 1 }]
    }),
  )
  const cases = [...places].map(([lane, { base, step, perMs, sign }]) => {
    return `WHEN ${lane} THEN ${sign} * coalesce(rank, ${base} + priority * ${step}::bigint + run_after * ${perMs})`
  })
  const place = cases.length === 0 ? '0::bigint' : `CASE lane ${cases.join(' ')} END`
  const tie = (sign: number) => `${sign} * id`
  const backwards = [...places].filter(([, { sign }]) => sign < 0).map(([lane]) => lane)
  const sources = [1, -1].flatMap((sign) => {
    const lanes = [...places].filter(([, one]) => one.sign === sign).map(([lane]) => lane)
    const mine = `t.lane = ANY('{${lanes.join()}}')`
    const beyond = sign === 1 ? '(t.rank, t.id) > ($3, $4)' : '(t.rank, t.id) < (-$3::bigint, -$4::bigint)'
    const down = sign === 1 ? '' : 'DESC'
    return [
      ...QUEUED.map((which) => ({
        which: `${which} AND ${mine} AND ${beyond}`,
        order: `rank ${down}, id ${down}`,
      })),
      {
        which: `t.delayed AND t.run_after <= ${now} AND ${mine} AND (${place}, ${tie(sign)}) > ($3, $4)`,
        order: `${place}, ${tie(sign)}`,
      },
    ]
  })
  return {
    sources,
    order: `${place}, ${backwards.length === 0 ? 'id' : `CASE WHEN lane = ANY('{${backwards.join()}}') THEN -id ELSE id END`}`,
    first: [Number.MIN_SAFE_INTEGER, Number.MIN_SAFE_INTEGER],
    position(row) {
      const { base, step, perMs, sign } = places.get(row.lane)!
      return [sign * (row.rank ?? base + row.priority * step + (row.run_after ?? 0) * perMs), sign * row.id]
    },
  }
}
