import { FINISHED_STATUSES } from '../../../src/model/task.ts'
import type { Flaw, Ground } from './ground.ts'

/** What must be true of a database at every moment, whoever was killed: asked of the rows themselves. */
const FLAWS: readonly Flaw[] = [
  {
    what: 'a task is held by a session that is over',
    sql: `SELECT t.id, t.session FROM gleaner.tasks t LEFT JOIN gleaner.sessions s ON s.id = t.session
          WHERE t.fence IS NOT NULL AND (s.id IS NULL OR s.ended_at IS NOT NULL)`,
  },
  {
    what: 'a task runs that nobody holds',
    sql: `SELECT id FROM gleaner.tasks WHERE status = 'running' AND fence IS NULL`,
  },
  {
    what: 'a task is held that is neither queued nor running',
    sql: `SELECT id, status FROM gleaner.tasks WHERE fence IS NOT NULL AND status NOT IN ('queued', 'running')`,
  },
  {
    what: 'a task has finished, or not, and its time says otherwise',
    sql: `SELECT id, status FROM gleaner.tasks
          WHERE (finished_at IS NOT NULL) <> (status IN ('completed', 'failed', 'cancelled'))`,
  },
  {
    what: 'a task has more attempts than it may have, or less than none',
    sql: 'SELECT id, attempts, max_attempts FROM gleaner.tasks WHERE attempts > max_attempts OR attempts < 0',
  },
  {
    what: 'a task that waits has no place in its queue, or no time',
    sql: `SELECT id, status FROM gleaner.tasks
          WHERE (status = 'queued' AND rank IS NULL) OR (status = 'scheduled' AND run_after IS NULL)`,
  },
  {
    what: 'a task of a lane that does not exist',
    sql: 'SELECT id FROM gleaner.tasks WHERE lane NOT IN (SELECT id FROM gleaner.lanes)',
  },
  {
    what: 'a log line, attempt or key of no task',
    sql: ['logs', 'attempts', 'forever_keys']
      .map(
        (table) =>
          `SELECT '${table}' AS part, task FROM gleaner.${table} WHERE task NOT IN (SELECT id FROM gleaner.tasks)`,
      )
      .join(' UNION ALL '),
  },
]

/** What is not as it must be. */
export async function flawsOf(ground: Ground): Promise<string[]> {
  const flaws = await ground.damage()
  if (!(await ground.hasTables())) return flaws
  for (const { what, sql } of [...FLAWS, ...ground.ownFlaws, ...miscounts(ground)]) {
    const rows = await ground.rows(sql)
    if (rows.length > 0) flaws.push(`${what}: ${JSON.stringify(rows.slice(0, 3))}`)
  }
  return flaws
}

/** The counters of each lane, compared with its rows. */
function miscounts({ counting }: Ground): Flaw[] {
  return ['created', 'scheduled', ...FINISHED_STATUSES].map((counter) => ({
    what: `a lane has other ${counter} tasks than it counts`,
    sql: `SELECT c.name, c.${counter} AS counted, count(t.id) AS present
          FROM (${counting.lanes}) c LEFT JOIN gleaner.tasks t
            ON t.lane = c.id AND ${counter === 'created' ? counting.created : `t.status = '${counter}'`}
          GROUP BY c.id, c.name, c.${counter} HAVING c.${counter} <> count(t.id)`,
  }))
}
