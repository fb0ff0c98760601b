import type { ClaimRequest } from '../../ports/exchange.ts'
import { numberList, type Sql } from '../server/sql.ts'
import { ENTRIES_READ, READY, SUSPECT } from '../waiting/conditions.ts'
import { momentOf } from './moment.ts'
import type { ClaimRoute } from './route.ts'

const NOW = momentOf('$5')

/** Suspects, but for those. */
export function suspectsBut(avoid: readonly string[] = []): string {
  const numbers = avoid.filter((id) => /^\d+$/.test(id))
  return numbers.length === 0 ? SUSPECT : `${SUSPECT} AND tasks.id <> ALL('${numberList(numbers)}'::bigint[])`
}

/** Who claims. */
export interface Claimer {
  session: string
  want: ClaimRequest
  now: number
}

/** What is asked of a walk. */
export interface TakeRequest extends Omit<Claimer, 'now'> {
  /** Null: as its transaction keeps it. */
  now: number | null
}

export interface ClaimedTaskRow {
  id: number
  fence: number
  rank: number
  lane: number
  input: string | null
  attempts: number
  max_attempts: number
  overrides: string | null
  key: string | null
  created_at: number
  started: boolean
  suspect: boolean
  entries: number
  position: number
  /** A rate has counted its start, which comes later. */
  isRated?: boolean
}

/**
 * The locked rows are found again by their place in the table, which the lock holds still: by id it would take a walk
 * through an index for each.
 */
export async function take(
  sql: Sql,
  which: string,
  route: ClaimRoute,
  { session, want, now }: TakeRequest,
  count: number,
): Promise<ClaimedTaskRow[]> {
  const { path, mine, highest } = route
  const rows = await sql.rows<ClaimedTaskRow>(textOf(which, route), [
    path.lanes,
    count,
    session,
    want.start,
    now,
    path.from,
    path.to,
    path.turn,
    path.lastFirst,
    Math.min(count, route.share),
    ...(path.lanes.some((lane) => lane < 0) ? [mine ?? highest] : []),
  ])
  rows.sort((a, b) => a.position - b.position)
  // The same for all, and told once.
  const { fence, entries } = rows[0] ?? { fence: 0, entries: 0 }
  return rows.map((row) => ({
    ...row,
    fence,
    entries,
    started: row.position <= want.start,
    suspect: which !== READY,
  }))
}

/** Of what is ready: it is asked for again and again. */
const readyTexts = new Map<string, string>()

/** What a statement reads, and how. */
interface Reading {
  which: string
  /** Backwards, forwards, or both. */
  ways: readonly boolean[]
  hasLanes: boolean
  hasLines: boolean
  /** Of lines only these lanes; otherwise all up to the highest that is known. */
  hasStrangers: boolean
  hasSeveral: boolean
  isOneByOne: boolean
}

function textOf(which: string, { path, mine, isOneByOne }: ClaimRoute): string {
  const reading: Reading = {
    which,
    ways: [false, true].filter((way) => path.lastFirst.includes(way)),
    hasLanes: path.lanes.some((lane) => lane > 0),
    hasLines: path.lanes.some((lane) => lane < 0),
    hasStrangers: mine !== null,
    hasSeveral: path.turn.some((turn) => turn !== path.turn[0]),
    isOneByOne,
  }
  if (which !== READY) return takeText(nextOf(reading))
  const key = Object.values(reading).join()
  const text = readyTexts.get(key) ?? takeText(nextOf(reading))
  readyTexts.set(key, text)
  return text
}

function takeText(next: string): string {
  return `WITH next AS MATERIALIZED (${next}), fence AS MATERIALIZED (
      SELECT pg_catalog.nextval('gleaner.fence') AS value, ${ENTRIES_READ} AS entries WHERE EXISTS (SELECT 1 FROM next)
    ), batch AS (
      INSERT INTO gleaner.batches (fence, session, tasks) SELECT value, $3, ARRAY(SELECT task FROM next) FROM fence
    )
    UPDATE gleaner.tasks SET session = $3, fence = fence.value, attempts = attempts + 1, in_line = false,
      status = CASE WHEN next.position <= $4 THEN 'running' ELSE status END,
      started_at = CASE WHEN next.position <= $4 THEN (SELECT ${NOW}) ELSE started_at END
    FROM next, fence WHERE tasks.ctid = next.place
    RETURNING tasks.id, rank, lane, input, attempts, max_attempts, overrides, key, created_at, next.position,
      CASE WHEN next.position = 1 THEN tasks.fence END AS fence, CASE WHEN next.position = 1 THEN entries END AS entries`
}

/**
 * Each lane is in order already, one way or the other, and so is each line; what another process has just locked is passed over. Those of a
 * queue are merged, and of several queues each gives one in turn. Read one by one, lanes are read and locked until there is enough.
 */
function nextOf(reading: Reading): string {
  const { ways, hasLanes, hasLines, hasSeveral } = reading
  const heads = ways
    .flatMap((way) => [
      ...(hasLanes ? [headsOf(reading, 'lane', way)] : []),
      ...(hasLines ? [headsOf(reading, 'line', way)] : []),
    ])
    .join(' UNION ALL ')
  if (!hasSeveral) {
    return `SELECT place, task, pg_catalog.row_number() OVER (ORDER BY rank, id) AS position FROM (${heads}) t
      ORDER BY rank, id LIMIT least($2, $10)`
  }
  const enough = reading.isOneByOne ? `${heads} LIMIT $2` : heads
  return `SELECT place, task, pg_catalog.row_number() OVER (ORDER BY nth, turn) AS position FROM (
      SELECT place, task, turn, pg_catalog.row_number() OVER (PARTITION BY turn ORDER BY rank, id) AS nth FROM (${enough}) t) t
    WHERE nth <= $10 ORDER BY nth, turn LIMIT $2`
}

/** Tasks of lanes that a worker may not claim from which it reads on its way. */
const STRANGERS_MAX = 100

/** Backwards, ranks and ids are turned round, so that all can be compared. */
function headsOf({ which, hasStrangers }: Reading, column: 'lane' | 'line', backwards: boolean): string {
  const [sign, down] = backwards ? ['-', 'DESC'] : ['', '']
  const isThere = `tasks.${column} = ${column === 'lane' ? 'l.lane' : '-l.lane'} AND ${which} AND rank >= l.low AND rank < l.high`
  const inOrder = `ORDER BY rank ${down}, id ${down}`
  // In a form that the planner does not turn into a join.
  const isMine = '(tasks.lane IN (SELECT pg_catalog.unnest($11::int[]))) IS TRUE'
  const isBefore = `(rank, id) ${backwards ? '>=' : '<='} (b.rank, b.id)`
  const only =
    column === 'lane' ? '' : hasStrangers ? `AND ${isMine} AND ${isBefore}` : 'AND tasks.lane <= $11::int'
  const bound = `(SELECT rank, id FROM (
      SELECT rank, id FROM gleaner.tasks WHERE ${isThere} ${inOrder} LIMIT 2 * $10 + ${STRANGERS_MAX}) seen
    ORDER BY rank ${backwards ? '' : 'DESC'}, id ${backwards ? '' : 'DESC'} LIMIT 1) b,`
  return `SELECT l.turn, t.place, t.id AS task, ${sign}t.rank AS rank, ${sign}t.id AS id
    FROM unnest($1::int[], $6::bigint[], $7::bigint[], $8::int[], $9::boolean[]) l(lane, low, high, turn, backwards),
    ${column === 'line' && hasStrangers ? `LATERAL ${bound}` : ''} LATERAL (
      SELECT ctid AS place, id, rank FROM gleaner.tasks
      WHERE ${isThere} ${only} ${inOrder} LIMIT $10 FOR UPDATE SKIP LOCKED) t
    WHERE l.backwards = ${backwards} AND l.lane ${column === 'lane' ? '>' : '<'} 0 AND ${NOW} IS NOT NULL`
}
