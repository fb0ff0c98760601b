import type { Pruning } from '../../scripts/prune.ts'
import type { Dialect } from '../../sql/dialect.ts'
import { native } from '../../sql/script.ts'
import { sql } from '../../sql/sql.ts'
import type { Statements } from '../file/statements.ts'
import { removeRows } from '../manage/remove.ts'

/** Claims wait that long for a step, because there is one writer at a time. */
const STEP_MS = 4

export function sqlitePruning(db: Dialect): Pruning {
  const columns = sql`t.id, t.lane, t.status, t.finished_at`
  return {
    stepMs: STEP_MS,
    select: ({ lanes, status, until, limit, inOrder }) => {
      const given = db.given('l', [{ name: 'lane', type: 'integer', values: lanes }])
      const { from, withStatus } = db.schema.finished
      const where = sql`${withStatus(status)} AND t.finished_at <= ${until}`
      // Most of thousands of lanes have nothing: what is found first will do.
      if (!inOrder)
        return sql`SELECT ${columns} FROM ${given} CROSS JOIN ${from} WHERE t.lane = l.lane AND ${where} LIMIT ${limit}`
      const order = sql`t.finished_at, t.id`
      const head = db.headOfEach({ lanes: given, from, where, order, count: limit, columns })
      return sql`${head} ORDER BY ${order} LIMIT ${limit}`
    },
    remove: (ids) =>
      native((db: Statements) => {
        const startedMs = performance.now()
        removeRows(db, ids)
        return performance.now() - startedMs
      }),
    removed: () => {},
    walkEnded: () => {},
  }
}
