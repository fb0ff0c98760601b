import type { ClaimableLanes, QueueLanes } from '../../claimable.ts'
import { byRank } from '../../lines.ts'
import type { Statements } from '../file/statements.ts'
import { nonEmpty, READY_LANE, SUSPECT_LANE } from './non-empty.ts'

export const READY = `status = 'queued' AND fence IS NULL AND suspect = 0`
export const SUSPECT = `status = 'queued' AND fence IS NULL AND suspect = 1`

/** Of a line whose tasks are not all for this worker, so many more are read before its lanes are read one by one. */
const STRANGERS_MAX = 100

/** A waiting task, as far as its place in line tells. */
export interface Head {
  id: number
  rank: number
  queue: string
}

/** In which order, and how many. */
interface Reading {
  lastFirst: boolean
  count: number
}

/** The same index serves both ways. */
export function inOrder(lastFirst: boolean): string {
  return lastFirst ? 'ORDER BY rank DESC, id DESC' : 'ORDER BY rank, id'
}

/** The head of one queue: each of its lanes is in order already, and so is its line. */
export function headsOf(
  db: Statements,
  claimable: ClaimableLanes,
  lanes: QueueLanes,
  reading: Reading,
): Head[] {
  const { queue, own } = lanes
  if (own.length === 1 && lanes.line === null) return headsOfLane(db, own[0]!.id, queue, reading)
  const ids = own.map(({ id }) => id)
  const heads = headsOfLanes(db, ids, queue, reading)
  heads.push(...headsOfLine(db, claimable, lanes, reading))
  return firstOf(heads, reading)
}

function firstOf(heads: Head[], { lastFirst, count }: Reading): Head[] {
  return heads.sort(byRank(lastFirst)).slice(0, count)
}

/** So many of each of these queues, in one statement for all lanes and one for all lines. */
export function headsOfQueues(
  db: Statements,
  claimable: ClaimableLanes,
  queues: readonly QueueLanes[],
  reading: Reading,
): Head[][] {
  const own = queues.flatMap((lanes) => lanes.own.map(({ id }) => id))
  const lines = queues.flatMap((lanes) => (claimable.isWhole(lanes) ? [lanes.line!] : []))
  const ofLane = headsBy('lane', db, own, reading)
  const ofLine = headsBy('line', db, lines, reading)
  return queues.map((lanes) => {
    const heads = lanes.own.flatMap(({ id }) => ofLane.get(id) ?? [])
    if (claimable.isWhole(lanes)) heads.push(...(ofLine.get(lanes.line!) ?? []))
    else heads.push(...headsOfLine(db, claimable, lanes, reading))
    return ofQueue(firstOf(heads, reading), lanes.queue)
  })
}

function headsBy(
  column: 'lane' | 'line',
  db: Statements,
  ids: readonly number[],
  reading: Reading,
): Map<number, Head[]> {
  const { lastFirst, count } = reading
  if (ids.length === 0) return new Map()
  const rows = db
    .sql(`SELECT one.value AS at, t.id, t.rank FROM json_each(?) one CROSS JOIN gleaner_tasks t
          WHERE t.id IN (SELECT id FROM gleaner_tasks WHERE ${column} = one.value AND ${READY} ${inOrder(lastFirst)} LIMIT ?)`)
    .all(JSON.stringify(ids), count) as (Head & { at: number })[]
  return Map.groupBy(rows, ({ at }) => at)
}

function headsOfLane(db: Statements, lane: number, queue: string, { lastFirst, count }: Reading): Head[] {
  const rows = db
    .sql(`SELECT id, rank FROM gleaner_tasks WHERE lane = ? AND ${READY} ${inOrder(lastFirst)} LIMIT ?`)
    .all(lane, count) as Head[]
  return ofQueue(rows, queue)
}

/** So many of each. */
function headsOfLanes(db: Statements, lanes: readonly number[], queue: string, reading: Reading): Head[] {
  const { lastFirst, count } = reading
  if (lanes.length === 0) return []
  const rows = db
    .sql(`SELECT t.id, t.rank FROM json_each(?) one CROSS JOIN gleaner_tasks t
          WHERE t.id IN (SELECT id FROM gleaner_tasks WHERE lane = one.value AND ${READY} ${inOrder(lastFirst)} LIMIT ?)`)
    .all(JSON.stringify(lanes), count) as Head[]
  return ofQueue(rows, queue)
}

function ofQueue(rows: Head[], queue: string): Head[] {
  for (const row of rows) row.queue = queue
  return rows
}

function headsOfLine(db: Statements, claimable: ClaimableLanes, lanes: QueueLanes, reading: Reading): Head[] {
  const { lastFirst, count } = reading
  const { queue, line, shared } = lanes
  if (line === null) return []
  const isWhole = claimable.isWhole(lanes)
  const most = isWhole ? count : 2 * count + STRANGERS_MAX
  const rows = db
    .sql(
      `SELECT id, rank${isWhole ? '' : ', lane'} FROM gleaner_tasks WHERE line = ? AND ${READY} ${inOrder(lastFirst)} LIMIT ?`,
    )
    .all(line, most) as (Head & { lane: number })[]
  const heads = isWhole ? rows : rows.filter(({ lane }) => claimable.lane(lane) !== undefined).slice(0, count)
  ofQueue(heads, queue)
  if (heads.length === count || rows.length < most) return heads
  // The tasks of others stand in front: they must not cost this worker anything.
  const ids = shared.map(({ id }) => id)
  return headsOfLanes(db, [...nonEmpty(db, READY_LANE, ids)], queue, reading)
}

/** The first suspects of one lane after the other, of this queue. There are few: a crash leaves what one process had in hand. */
export function suspectsOf(
  db: Statements,
  claimable: ClaimableLanes,
  queue: string,
  reading: Reading,
): Head[] {
  const { lastFirst, count } = reading
  const heads: Head[] = []
  for (const lane of nonEmpty(db, SUSPECT_LANE, claimable.ids)) {
    if (claimable.queueOf(lane) !== queue) continue
    const rows = db
      .sql(`SELECT id, rank FROM gleaner_tasks WHERE lane = ? AND ${SUSPECT} ${inOrder(lastFirst)} LIMIT ?`)
      .all(lane, count) as Omit<Head, 'queue'>[]
    heads.push(...rows.map((row) => ({ ...row, queue })))
  }
  return heads.sort(byRank(lastFirst)).slice(0, count)
}
