import { NEVER } from '../model/ledger.ts'
import { FINISHED_STATUSES } from '../model/task.ts'
import { UNHEARD } from './flow-repair.ts'
import type { Finding } from './ports/maintenance.ts'

/** Rows that answer `sql` should not be there. `gleaner.` stands before the engine's tables. */
export interface Flaw {
  what: string
  sql: string
}

/** How a store counts the tasks of each lane, and which of them (`t`) are in the counter of the created ones. */
export interface Counting {
  lanes: string
  created: string
}

/** What must be true of a database at every moment, in SQL that both stores understand. */
const EVERYWHERE: readonly Flaw[] = [
  {
    what: 'a task is held by a session that has ended',
    sql: `SELECT t.id, t.session FROM gleaner.tasks t LEFT JOIN gleaner.sessions s ON s.id = t.session
          WHERE t.fence IS NOT NULL AND (s.id IS NULL OR s.ended_at IS NOT NULL)`,
  },
  {
    what: 'a task is running, and no worker holds it',
    sql: `SELECT id FROM gleaner.tasks WHERE status = 'running' AND fence IS NULL`,
  },
  {
    what: 'a task is held, and is neither queued nor running',
    sql: `SELECT id, status FROM gleaner.tasks WHERE fence IS NOT NULL AND status NOT IN ('queued', 'running')`,
  },
  {
    what: 'the status of a task contradicts its finish time',
    sql: `SELECT id, status FROM gleaner.tasks
          WHERE (finished_at IS NOT NULL) <> (status IN ('completed', 'failed', 'cancelled'))`,
  },
  {
    what: 'a task has more attempts than its maximum, or fewer than 0',
    sql: 'SELECT id, attempts, max_attempts FROM gleaner.tasks WHERE attempts > max_attempts OR attempts < 0',
  },
  {
    what: 'a queued task has no rank, or a scheduled task has no time',
    sql: `SELECT id, status FROM gleaner.tasks
          WHERE (status = 'queued' AND rank IS NULL) OR (status = 'scheduled' AND run_after IS NULL)`,
  },
  {
    what: 'a task or a row is suspended and waits for nothing, or one that is not suspended waits for something',
    sql: `SELECT CAST(t.id AS text) AS item, t.status FROM gleaner.tasks t
          WHERE t.status = 'suspended' AND NOT EXISTS (SELECT 1 FROM gleaner.waits w WHERE w.task = t.id)
          UNION ALL SELECT w.item, t.status FROM gleaner.waits w LEFT JOIN gleaner.tasks t ON t.id = w.task
          WHERE w.task IS NOT NULL AND (t.id IS NULL OR t.status <> 'suspended')
          UNION ALL SELECT l.discovery || '/' || l.row_key, 'row' FROM gleaner.ledger l
          WHERE CAST(l.suspended AS integer) = 1
            AND NOT EXISTS (SELECT 1 FROM gleaner.waits w WHERE w.item = l.discovery || '/' || l.row_key)`,
  },
  {
    what: 'a task with an order key is unfinished and neither leads nor waits behind another, or is finished and does so',
    sql: 'SELECT id, status FROM gleaner.tasks WHERE (order_key IS NOT NULL AND finished_at IS NULL) <> (leads IS NOT NULL)',
  },
  {
    what: 'a worker holds a task that waits behind another of its order key',
    sql: `SELECT id, status FROM gleaner.tasks WHERE CAST(leads AS integer) = 0 AND status NOT IN ('queued', 'scheduled', 'suspended')
          UNION ALL SELECT id, status FROM gleaner.tasks WHERE CAST(leads AS integer) = 0 AND fence IS NOT NULL`,
  },
  {
    what: 'a task belongs to a lane that does not exist',
    sql: `SELECT id FROM gleaner.tasks t WHERE NOT EXISTS (SELECT 1 FROM gleaner.lanes l WHERE l.id = t.lane)`,
  },
  {
    what: 'a task waits in another line than its lane has, so that no worker would find it in its turn',
    sql: `SELECT t.id, t.line, l.line AS line_of_lane FROM gleaner.tasks t JOIN gleaner.lanes l ON l.id = t.lane
          WHERE t.finished_at IS NULL AND t.line IS DISTINCT FROM l.line`,
  },
  {
    what: 'a lane of a limit key has no entry for that key, or such an entry has no lane or limit counter',
    sql: `SELECT l.id FROM gleaner.lanes l WHERE limit_key <> ''
            AND NOT EXISTS (SELECT 1 FROM gleaner.turnstiles t WHERE t.lane = l.id AND t.gate = l.key_gate)
          UNION ALL SELECT t.lane FROM gleaner.turnstiles t
          WHERE NOT EXISTS (SELECT 1 FROM gleaner.lanes l WHERE l.id = t.lane)
             OR NOT EXISTS (SELECT 1 FROM gleaner.lanes l WHERE l.id = t.base)
             OR NOT EXISTS (SELECT 1 FROM gleaner.gates g WHERE g.id = t.gate)`,
  },
  {
    what: 'a row is claimed by a session that has ended',
    sql: `SELECT c.discovery, c.row_key, c.session FROM gleaner.claims c LEFT JOIN gleaner.sessions s ON s.id = c.session
          WHERE s.id IS NULL OR s.ended_at IS NOT NULL`,
  },
  {
    what: 'a claim or a ledger entry belongs to no discovery',
    sql: ['claims', 'ledger']
      .map(
        (table) => `SELECT '${table}' AS part, p.discovery, p.row_key FROM gleaner.${table} p
                    WHERE NOT EXISTS (SELECT 1 FROM gleaner.discoveries d WHERE d.name = p.discovery)`,
      )
      .join(' UNION ALL '),
  },
  {
    what: 'a quarantined row has a time for its next attempt, or a row that backs off has none',
    sql: `SELECT discovery, row_key, blocked_until FROM gleaner.ledger
          WHERE (CAST(quarantined AS integer) = 1) <> (blocked_until = ${NEVER})`,
  },
  {
    what: 'a flow counts its tasks otherwise than they ended',
    sql: `SELECT f.id, f.name FROM gleaner.flows f WHERE EXISTS (
            SELECT 1 FROM gleaner.flow_members m WHERE m.flow = f.id GROUP BY m.flow
            HAVING count(*) <> f.total OR count(CASE WHEN m.counted = 'completed' THEN 1 END) <> f.completed
              OR count(CASE WHEN m.counted = 'failed' THEN 1 END) <> f.failed
              OR count(CASE WHEN m.counted = 'cancelled' THEN 1 END) <> f.cancelled
              OR count(CASE WHEN m.counted = 'removed' THEN 1 END) <> f.removed
              OR count(CASE WHEN m.held = 0 THEN 1 END) <> f.queued)`,
  },
  { what: 'a task ended, and a flow that waits for it has not heard of it', sql: UNHEARD },
  {
    what: 'a task of a flow is kept back, and does not wait',
    sql: `SELECT m.flow, m.task FROM gleaner.flow_members m JOIN gleaner.tasks t ON t.id = m.task
          WHERE m.held = 1 AND m.counted IS NULL AND t.finished_at IS NULL AND t.status <> 'suspended'`,
  },
  // Not a key: one that was taken for ever outlives its task.
  {
    what: 'a log line or an attempt belongs to no task',
    sql: ['logs', 'attempts']
      .map(
        (table) => `SELECT '${table}' AS part, p.task FROM gleaner.${table} p
                    WHERE NOT EXISTS (SELECT 1 FROM gleaner.tasks t WHERE t.id = p.task)`,
      )
      .join(' UNION ALL '),
  },
]

/** Everything to ask of a database: what is true everywhere, what one store adds, and that the counters are right. */
export function flawsToLookFor(own: readonly Flaw[], counting: Counting): Flaw[] {
  return [...EVERYWHERE, ...own, ...miscounts(counting)]
}

/** The counters of each lane, compared with its rows. */
function miscounts(counting: Counting): Flaw[] {
  return ['created', 'scheduled', 'suspended', ...FINISHED_STATUSES].map((counter) => ({
    what: `a lane counts another number of ${counter} tasks than it has`,
    sql: `SELECT c.name, c.${counter} AS counted, count(t.id) AS present
          FROM (${counting.lanes}) c LEFT JOIN gleaner.tasks t
            ON t.lane = c.id AND ${counter === 'created' ? counting.created : `t.status = '${counter}'`}
          GROUP BY c.id, c.name, c.${counter} HAVING c.${counter} <> count(t.id)`,
  }))
}

const EXAMPLES_MAX = 3

/** The rows that show a flaw, a few of them. */
export function examplesOf({ sql }: Flaw): string {
  return `SELECT * FROM (${sql}) flaw LIMIT ${EXAMPLES_MAX}`
}

export function findingsOf(looks: readonly { flaw: Flaw; rows: Finding['examples'] }[]): Finding[] {
  return looks
    .filter(({ rows }) => rows.length > 0)
    .map(({ flaw, rows }) => ({ what: flaw.what, examples: rows }))
}

/** What a look finds is repaired as far as that is possible; a second look says what of it was. */
export async function checked(
  look: () => Promise<Finding[]>,
  repair: () => Promise<unknown>,
): Promise<Finding[]> {
  const found = await look()
  if (found.length === 0) return found
  await repair()
  const left = new Set((await look()).map(({ what }) => what))
  return found.map((finding) => (left.has(finding.what) ? finding : { ...finding, repaired: true }))
}
