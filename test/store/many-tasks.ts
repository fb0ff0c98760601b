import type { Store } from '../../src/store/ports/store.ts'
import { newTask } from '../conformance/world.ts'

export const START = 1_700_000_000_000

/** One in ten of each unfinished status that a row can simply have; the others are finished. Two lanes. */
const ROWS = `
  SELECT id, 1 + id % 2 AS lane,
         CASE id % 10 WHEN 0 THEN 'queued' WHEN 1 THEN 'scheduled' WHEN 2 THEN 'failed' WHEN 3 THEN 'cancelled'
           ELSE 'completed' END AS status,
         100 AS priority, CASE WHEN id % 10 = 0 THEN 100 * 4398046511104 + ${START} + id END AS rank, 3 AS max_attempts,
         ${START} + id AS created_at, CASE WHEN id % 10 = 1 THEN 4000000000000 + id END AS run_after,
         CASE WHEN id % 10 > 1 THEN ${START} + id END AS finished_at,
         CASE WHEN id % 10 = 2 THEN '{"kind":"error","message":"no luck","stack":null}' END AS error,
         CASE WHEN id % 1000 = 0 THEN 'job/k' || id END AS key`
const COLUMNS =
  'id, lane, status, priority, rank, max_attempts, created_at, run_after, finished_at, error, key'

/** The lanes that the rows are in. */
export async function openLanes(store: Store): Promise<void> {
  await store.tasks.enqueue([newTask(), newTask({ name: 'other' }), newTask({ queue: 'empty' })])
  for (const { id } of (await store.tasks.listTasks({}, { limit: 10, cursor: null })).items)
    await store.tasks.removeTask(id)
}

/** What makes a table large, without the engine; `gleaner.` stands before its tables. */
export const MANY_TASKS: Record<string, (count: number) => string[]> = {
  SQLite: (count) => [
    `INSERT INTO gleaner.tasks (${COLUMNS})
     WITH RECURSIVE n (id) AS (SELECT 10 UNION ALL SELECT id + 1 FROM n WHERE id < ${count}) ${ROWS} FROM n`,
  ],
  PostgreSQL: (count) => [
    `INSERT INTO gleaner.tasks (${COLUMNS}, in_line, delayed, active_key)
     SELECT *, status = 'queued', status = 'scheduled', CASE WHEN status = 'queued' THEN key END
     FROM (${ROWS} FROM generate_series(10::bigint, ${count}) n(id)) rows`,
    `INSERT INTO gleaner.finished (lane, status, finished_at, tasks)
     SELECT lane, status, finished_at, ARRAY[id] FROM gleaner.tasks WHERE finished_at IS NOT NULL`,
    'ANALYZE gleaner.finished',
    'ANALYZE gleaner.tasks',
  ],
}
