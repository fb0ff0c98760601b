import Database from 'better-sqlite3'
import { FINISHED_STATUSES } from '../../src/model/task.ts'

/**
 * What must be true of a database at every moment, whoever was killed: asked of the rows themselves, with SQL of our
 * own, not of the engine. Answers what is not.
 */
export function flawsOf(file: string): string[] {
  const db = new Database(file, { timeout: 10_000 })
  try {
    const flaws: string[] = []
    const integrity = db.pragma('integrity_check', { simple: true })
    if (integrity !== 'ok') flaws.push(`integrity_check: ${integrity}`)
    if (!hasTables(db)) return flaws
    const none = (what: string, sql: string) => {
      const rows = db.prepare(sql).all()
      if (rows.length > 0) flaws.push(`${what}: ${JSON.stringify(rows.slice(0, 3))}`)
    }
    none(
      'a task is held by a session that is over',
      `SELECT t.id, t.session FROM gleaner_tasks t LEFT JOIN gleaner_sessions s ON s.id = t.session
       WHERE t.fence IS NOT NULL AND (s.id IS NULL OR s.ended_at IS NOT NULL)`,
    )
    none(
      'a task is held that no batch of its session lists',
      `SELECT id, session, fence FROM gleaner_tasks WHERE fence IS NOT NULL AND id NOT IN (SELECT id FROM gleaner_held)`,
    )
    none(
      'a batch counts others than the tasks that are held by it',
      `SELECT fence, unsettled FROM gleaner_batches b WHERE unsettled = 0
         OR unsettled <> (SELECT count(*) FROM gleaner_held h WHERE h.fence = b.fence)`,
    )
    none(
      'a task runs that nobody holds',
      `SELECT id FROM gleaner_tasks WHERE status = 'running' AND fence IS NULL`,
    )
    none(
      'a task is held that is neither queued nor running',
      `SELECT id, status FROM gleaner_tasks WHERE fence IS NOT NULL AND status NOT IN ('queued', 'running')`,
    )
    none(
      'a task has finished, or not, and its time says otherwise',
      `SELECT id, status FROM gleaner_tasks
       WHERE (finished_at IS NOT NULL) <> (status IN ('completed', 'failed', 'cancelled'))`,
    )
    none(
      'a task has more attempts than it may have, or less than none',
      `SELECT id, attempts, max_attempts FROM gleaner_tasks WHERE attempts > max_attempts OR attempts < 0`,
    )
    none(
      'a task that waits has no place in its queue, or no time',
      `SELECT id, status FROM gleaner_tasks
       WHERE (status = 'queued' AND rank IS NULL) OR (status = 'scheduled' AND run_after IS NULL)`,
    )
    none(
      'a task of a lane that does not exist',
      `SELECT id FROM gleaner_tasks WHERE lane NOT IN (SELECT id FROM gleaner_lanes)`,
    )
    none(
      'an input, log line, attempt or key of no task',
      ['gleaner_inputs', 'gleaner_logs', 'gleaner_attempts', 'gleaner_forever_keys']
        .map(
          (table) =>
            `SELECT '${table}' AS part, task FROM ${table} WHERE task NOT IN (SELECT id FROM gleaner_tasks)`,
        )
        .join(' UNION ALL '),
    )
    none(
      'a task without its input',
      `SELECT id FROM gleaner_tasks WHERE input = '' AND id NOT IN (SELECT task FROM gleaner_inputs)`,
    )
    none(
      'a fence beyond the sequence',
      `SELECT id, fence FROM gleaner_tasks WHERE fence > (SELECT value FROM gleaner_meta WHERE key = 'fence')`,
    )
    return [...flaws, ...miscounts(db)]
  } finally {
    db.close()
  }
}

function hasTables(db: Database.Database): boolean {
  return db.prepare(`SELECT 1 FROM sqlite_schema WHERE name = 'gleaner_tasks'`).get() !== undefined
}

/** The counters of each lane, compared with its rows. */
function miscounts(db: Database.Database): string[] {
  const counters = ['scheduled', ...FINISHED_STATUSES]
  const counted = counters.map((status) => `count(*) FILTER (WHERE t.status = '${status}') AS ${status}_rows`)
  const lanes = db
    .prepare(`SELECT l.*, ${counted.join(', ')}, count(t.id) FILTER (WHERE t.id <= m.value) AS created_rows
              FROM gleaner_lanes l JOIN gleaner_meta m ON m.key = 'counted_through'
              LEFT JOIN gleaner_tasks t ON t.lane = l.id GROUP BY l.id`)
    .all() as Record<string, any>[]
  return lanes.flatMap((lane) =>
    ['created', ...counters]
      .filter((counter) => lane[counter] !== lane[`${counter}_rows`])
      .map((counter) => `${lane.name}: counts ${lane[counter]} ${counter}, has ${lane[`${counter}_rows`]}`),
  )
}
