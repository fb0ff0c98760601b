import type { FinishedStatus } from '../../../model/task.ts'
import type { FinishedTask, Pruning } from '../../scripts/prune.ts'
import type { Dialect } from '../../sql/dialect.ts'
import { native } from '../../sql/script.ts'
import { sql } from '../../sql/sql.ts'
import { removeRows } from '../manage/remove.ts'
import type { Sql } from '../server/sql.ts'

/** No worker waits for a step, but it must not keep the server busy for long at once. */
const STEP_MS = 40

/**
 * How far each lane was pruned. Differs because rows that were removed stay in the index until vacuum: without this, each step
 * would read all that the steps before it removed. When a step finds nothing, it is forgotten: a task that committed late is found after that.
 */
class PruneMarks {
  readonly #marks = new Map<string, FinishedTask>()

  of(lanes: readonly number[], status: FinishedStatus): { at: number[]; id: number[] } {
    const marks = lanes.map((lane) => this.#marks.get(`${lane} ${status}`))
    return { at: marks.map((mark) => mark?.finished_at ?? 0), id: marks.map((mark) => mark?.id ?? 0) }
  }

  removed(tasks: readonly FinishedTask[]): void {
    for (const task of tasks) this.#marks.set(`${task.lane} ${task.status}`, task)
  }

  forget(): void {
    this.#marks.clear()
  }
}

export function postgresPruning(db: Dialect): Pruning {
  const marks = new PruneMarks()
  return {
    stepMs: STEP_MS,
    // Always in order, because the marks are what was found last.
    select: ({ lanes, status, until, limit }) => {
      const since = marks.of(lanes, status)
      const given = db.given('l', [
        { name: 'lane', type: 'integer', values: lanes },
        { name: 'since', type: 'bigint', values: since.at },
        { name: 'since_id', type: 'bigint', values: since.id },
      ])
      return sql`
        SELECT t.* FROM ${given}, LATERAL (
          SELECT one.id, f.lane, f.status, f.finished_at
          FROM gleaner.finished AS f CROSS JOIN LATERAL pg_catalog.unnest(f.tasks) AS one(id)
          WHERE f.lane = l.lane AND f.status = ${status} AND f.finished_at >= l.since AND f.finished_at <= ${until}
            AND (f.finished_at, one.id) > (l.since, l.since_id)
          ORDER BY f.finished_at, one.id LIMIT ${limit}) AS t
        ORDER BY t.finished_at, t.id LIMIT ${limit}`
    },
    remove: (ids) => native((sql: Sql) => removeRows(sql, ids)),
    removed: (tasks) => marks.removed(tasks),
    walkEnded: () => marks.forget(),
  }
}
