import {
  type ChosenOrders,
  placeIn,
  readFromEach,
  takeTurns,
  type WaitingTask,
} from '../../model/chosen-order.ts'
import type { Ordering, Strategy } from '../../model/queue.ts'
import { isLastFirst, PRIORITY_STEP, RANK_END, RANK_MIN } from '../../model/rank.ts'
import type { Lane } from '../lane.ts'
import { byRank } from '../lines.ts'
import type { Dialect } from '../sql/dialect.ts'
import { rows, type Script } from '../sql/script.ts'
import { sql, verbatim } from '../sql/sql.ts'

/** A waiting task of a lane, at its place in the order of a claim. */
export interface ChosenHead {
  id: number
  rank: number
  lane: number
  /** The task whose turn it takes, in a lane with an order of its own. */
  turnOf?: number
}

/** What a claim reads of one queue. */
export interface QueueRead {
  stored: Ordering
  /** Null: the stored order. */
  chosen: Strategy | null
  lanes: readonly Lane[]
  tasks: ChosenOrders['tasks']
  count: number
  random: () => number
}

/** Whether a worker claims from these lanes in another order than the stored one. */
export function hasChosenOrder(
  orders: ChosenOrders | undefined,
  queue: string,
  lanes: Iterable<Lane>,
): orders is ChosenOrders {
  if (orders === undefined) return false
  if (orders.queues.has(queue)) return true
  if (orders.tasks.size === 0) return false
  for (const { name } of lanes) if (orders.tasks.has(name)) return true
  return false
}

/** The last place is first. */
export function isBackwards(stored: Ordering, chosen: Strategy | null): boolean {
  return chosen === null ? isLastFirst(stored) : chosen === 'lifo'
}

/** The next tasks of one queue, in the order that the worker chose. A type with an order of its own decides which of its tasks takes a turn. */
export function* chosenHeads(db: Dialect, read: QueueRead): Script<ChosenHead[]> {
  const { stored, chosen, lanes, tasks, count } = read
  const all = lanes.map(({ id }) => id)
  const turns = Map.groupBy(yield* headsOf(db, read, all, chosen), ({ lane }) => lane)
  const ofQueue = chosen ?? stored.strategy
  const own = lanes.filter(({ name }) => (tasks.get(name) ?? ofQueue) !== ofQueue)
  for (const [strategy, alike] of Map.groupBy(own, ({ name }) => tasks.get(name)!)) {
    const waiting = alike.map(({ id }) => id).filter((id) => turns.has(id))
    const heads = yield* headsOf(db, read, waiting, strategy)
    for (const [lane, some] of Map.groupBy(heads, (head) => head.lane))
      turns.set(lane, takeTurns(turns.get(lane)!, some))
  }
  const isBefore = byRank(isBackwards(stored, chosen))
  const inTurn = [...turns.values()]
    .flat()
    .map((head) => ({ head, rank: head.rank, id: head.turnOf ?? head.id }))
  return inTurn.sort(isBefore).flatMap(({ head }, place) => (place < count ? [head] : []))
}

interface WaitingRow {
  id: number
  lane: number
  rank: number
  priority: number
  queued_at: number
}

/** Of each lane the next tasks, in order. */
function* headsOf(
  db: Dialect,
  { stored, count, random }: QueueRead,
  lanes: readonly number[],
  chosen: Strategy | null,
): Script<ChosenHead[]> {
  if (lanes.length === 0) return []
  const isStored = chosen === null || chosen === stored.strategy
  const stretches = isStored ? lanes.map(whole) : yield* stretchesOf(db, lanes)
  if (stretches.length === 0) return []
  const priorities = Math.max(
    ...[...Map.groupBy(stretches, ({ lane }) => lane).values()].map((s) => s.length),
  )
  const most = isStored ? count : readFromEach(stored, chosen, { count, priorities })
  const backwards = isBackwards(stored, chosen)
  const found = yield* rows<WaitingRow>(readStretches(db, stretches, most, backwards))
  const placed = found.map((row): ChosenHead => {
    const waiting: WaitingTask = { ...row, queuedAt: row.queued_at }
    const { id, rank } = isStored ? row : placeIn(stored, chosen, waiting, random)
    return { id, rank, lane: row.lane }
  })
  const ofLane = Map.groupBy(placed.sort(byRank(backwards)), ({ lane }) => lane)
  return [...ofLane.values()].flatMap((heads) => heads.slice(0, count))
}

/** A part of the index of waiting tasks: from one rank on, and before another. */
interface Stretch {
  lane: number
  low: number
  high: number
}

function whole(lane: number): Stretch {
  return { lane, low: RANK_MIN, high: RANK_END }
}

const STEP_BITS = verbatim(String(Math.log2(PRIORITY_STEP)))

/** The priorities of which something waits: one step through the index for each, whatever waits of it. */
function* stretchesOf(db: Dialect, lanes: readonly number[]): Script<Stretch[]> {
  const first = (lane: string, from: ReturnType<typeof sql>) => sql`(
    SELECT pg_catalog.min(t.rank) FROM gleaner.tasks AS t WHERE t.lane = ${verbatim(lane)}.lane AND ${db.schema.ready} AND t.rank >= ${from})`
  const given = db.given('l', [{ name: 'lane', type: 'integer', values: lanes }])
  const found = yield* rows<{ lane: number; rank: number }>(sql`
    WITH RECURSIVE stretch (lane, rank) AS (
      SELECT l.lane, ${first('l', sql`${verbatim(String(RANK_MIN))}`)} FROM ${given}
      UNION ALL
      SELECT s.lane, ${first('s', sql`((s.rank >> ${STEP_BITS}) + 1) << ${STEP_BITS}`)} FROM stretch AS s WHERE s.rank IS NOT NULL)
    SELECT lane, rank FROM stretch WHERE rank IS NOT NULL`)
  return found.map(({ lane, rank }) => {
    const low = Math.floor(rank / PRIORITY_STEP) * PRIORITY_STEP
    return { lane, low, high: low + PRIORITY_STEP }
  })
}

function readStretches(db: Dialect, stretches: readonly Stretch[], most: number, backwards: boolean) {
  const down = verbatim(backwards ? 'DESC' : '')
  return db.headOfEach({
    lanes: db.given('l', [
      { name: 'lane', type: 'integer', values: stretches.map(({ lane }) => lane) },
      { name: 'low', type: 'bigint', values: stretches.map(({ low }) => low) },
      { name: 'high', type: 'bigint', values: stretches.map(({ high }) => high) },
    ]),
    from: sql`gleaner.tasks AS t`,
    where: sql`${db.schema.ready} AND t.rank >= l.low AND t.rank < l.high`,
    order: sql`t.rank ${down}, t.id ${down}`,
    count: most,
    columns: sql`t.id, t.lane, t.rank, t.priority,
      CASE WHEN t.run_after > t.created_at THEN t.run_after ELSE t.created_at END AS queued_at`,
  })
}

/** What other walks found, at its place in the chosen order. */
export function* placedAnew<Head extends { id: number; rank: number }>(
  db: Dialect,
  heads: readonly Head[],
  { stored, chosen, random }: Pick<QueueRead, 'stored' | 'chosen' | 'random'>,
): Script<Head[]> {
  if (chosen === null || chosen === stored.strategy || heads.length === 0) return [...heads]
  const found = yield* rows<WaitingRow>(sql`
    SELECT t.id, t.rank, t.priority, CASE WHEN t.run_after > t.created_at THEN t.run_after ELSE t.created_at END AS queued_at
    FROM gleaner.tasks AS t WHERE t.id ${db.oneOf(heads.map(({ id }) => id))}`)
  const byId = new Map(found.map((row) => [row.id, row]))
  return heads.map((head) => {
    const row = byId.get(head.id)!
    return { ...head, rank: placeIn(stored, chosen, { ...row, queuedAt: row.queued_at }, random).rank }
  })
}
