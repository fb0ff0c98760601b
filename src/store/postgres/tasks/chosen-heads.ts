import type { ChosenOrders } from '../../../model/chosen-order.ts'
import type { Lane } from '../../lane.ts'
import { oneLine } from '../../lines.ts'
import {
  chosenHeads as headsOf,
  isBackwards,
  placedAnew,
  type QueueRead,
} from '../../scripts/chosen-heads.ts'
import { driveOn, postgresDialect } from '../server/scripts.ts'
import type { Sql } from '../server/sql.ts'
import { READY } from '../waiting/conditions.ts'
import type { QueueCache } from './queue-cache.ts'

/** Places follow from what is stored. */
const DIALECT = postgresDialect(() => Number.NaN)

/** Other workers claim in the same order at the same time: so many are read for each that is wanted. */
const READ_AHEAD = 4

/** A waiting task whose row is locked. */
interface Locked {
  place: string
  id: number
  rank: number
  base: Lane
}

/** What is asked of one queue. */
interface Asked {
  queue: string
  lanes: readonly Lane[]
  count: number
  orders: ChosenOrders
}

/** The head of one queue in the order that the worker chose. `keyedOf`: what has a limit key, in the order of turns. */
export async function headsInChosenOrder<Keyed extends Locked>(
  sql: Sql,
  book: QueueCache,
  { queue, lanes, count, orders }: Asked,
  keyedOf: (lastFirst: boolean) => Promise<Keyed[]> | Keyed[],
): Promise<(Keyed | (Locked & { key: null }))[]> {
  const stored = book.of(queue)
  const chosen = orders.queues.get(queue) ?? null
  const lastFirst = isBackwards(stored, chosen)
  const { random } = book
  const read = { stored, chosen, lanes, tasks: orders.tasks, count, random }
  const plain = (await lockInChosenOrder(sql, read)).map((one) => ({ ...one, key: null }))
  const keyed = await driveOn(sql, placedAnew(DIALECT, await keyedOf(lastFirst), read))
  return oneLine<Keyed | (Locked & { key: null })>(plain, keyed, lastFirst).slice(0, count)
}

/**
 * Reads without a lock, because a chosen order may have to compare many tasks for each that it takes. Then locks the first of
 * them that still wait and that no other process has locked.
 */
async function lockInChosenOrder(sql: Sql, read: QueueRead): Promise<Locked[]> {
  const { count, lanes } = read
  const heads = await driveOn(sql, headsOf(DIALECT, { ...read, count: count * READ_AHEAD }))
  if (heads.length === 0) return []
  const locked = await sql.rows<{ place: string; id: number }>(
    `SELECT t.ctid::text AS place, t.id FROM pg_catalog.unnest($1::bigint[]) one(id), LATERAL (
       SELECT ctid, id FROM gleaner.tasks WHERE tasks.id = one.id AND ${READY} FOR UPDATE SKIP LOCKED) t LIMIT $2`,
    [heads.map(({ id }) => id), count],
  )
  const placeOf = new Map(heads.map(({ id }, place) => [id, place]))
  const laneOf = new Map(lanes.map((lane) => [lane.id, lane]))
  return locked
    .sort((a, b) => placeOf.get(a.id)! - placeOf.get(b.id)!)
    .map(({ place, id }) => {
      const { rank, lane } = heads[placeOf.get(id)!]!
      return { place, id, rank, base: laneOf.get(lane)! }
    })
}
