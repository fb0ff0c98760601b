import type { PlaceInOrder } from '../../model/explanation.ts'
import type { Dialect } from '../sql/dialect.ts'
import { rows, type Script } from '../sql/script.ts'
import { sql } from '../sql/sql.ts'

/** Lanes in which a task may run now, and keys whose first task another transaction has locked. */
interface Led {
  lanes: number[]
  passedOver: string[]
}

/**
 * In a transaction, while no other one does the same: where no task of a key leads, the first that waits does from now on. It never waits for
 * a transaction of a user that has locked this task.
 */
export function* letLead(db: Dialect, keys: readonly string[]): Script<Led> {
  if (keys.length === 0) return { lanes: [], passedOver: [] }
  const { leading, behind, alsoWhenLeading } = db.schema
  const given = db.given('k', [{ name: 'key', type: 'text', values: [...new Set(keys)] }])
  const found = yield* rows<{ key: string; id: number | null }>(sql`
    SELECT k.key, (SELECT pg_catalog.min(t.id) FROM gleaner.tasks AS t WHERE t.order_key = k.key AND ${behind}) AS id
    FROM ${given} WHERE NOT EXISTS (SELECT 1 FROM gleaner.tasks AS t WHERE t.order_key = k.key AND ${leading})`)
  const first = found.filter(({ id }) => id !== null)
  if (first.length === 0) return { lanes: [], passedOver: [] }
  const locked = yield* rows<{ id: number }>(sql`
    SELECT t.id FROM gleaner.tasks AS t WHERE t.id ${db.oneOf(first.map(({ id }) => id!))} AND ${behind}
    ORDER BY t.id ${db.forUpdate} ${db.skipLocked}`)
  const ids = new Set(locked.map(({ id }) => id))
  const led = yield* rows<{ lane: number }>(sql`
    UPDATE gleaner.tasks AS t SET leads = ${true} ${alsoWhenLeading} WHERE t.id ${db.oneOf([...ids])} RETURNING lane`)
  const passedOver = first.flatMap(({ key, id }) => (ids.has(id!) ? [] : [key]))
  return { lanes: led.map(({ lane }) => lane), passedOver }
}

/** Tasks in front that are counted. */
const COUNTED_MAX = 1_000

/** Null: it has no order key, or it leads. */
export function* placeInOrder(db: Dialect, id: number): Script<PlaceInOrder | null> {
  const { leading, behind } = db.schema
  const [row] = yield* rows<{ order_key: string; leader: string | null; before: number }>(sql`
    SELECT t.order_key,
      (SELECT CAST(l.id AS text) FROM (SELECT t.id, t.order_key FROM gleaner.tasks AS t WHERE ${leading}) AS l
       WHERE l.order_key = t.order_key) AS leader,
      (SELECT pg_catalog.count(*) FROM (
        SELECT 1 FROM (SELECT t.id, t.order_key FROM gleaner.tasks AS t WHERE ${behind}) AS b
        WHERE b.order_key = t.order_key AND b.id < t.id LIMIT ${COUNTED_MAX}) AS counted) AS before
    FROM gleaner.tasks AS t WHERE t.id = ${id} AND ${behind}`)
  if (row === undefined) return null
  return { key: row.order_key.slice(row.order_key.indexOf('/') + 1), leader: row.leader, before: row.before }
}
