import type { Finding } from '../../ports/maintenance.ts'
import { type Counting, examplesOf, type Flaw, findingsOf, flawsToLookFor } from '../../soundness.ts'
import type { Connection } from '../file/connection.ts'
import { isDamaged } from '../file/sql-errors.ts'

export const FLAWS: readonly Flaw[] = [
  {
    what: 'an input belongs to no task',
    sql: `SELECT task FROM gleaner.inputs i WHERE NOT EXISTS (SELECT 1 FROM gleaner.tasks t WHERE t.id = i.task)`,
  },
  {
    what: 'a task has no input',
    sql: `SELECT id FROM gleaner.tasks t
          WHERE input = '' AND NOT EXISTS (SELECT 1 FROM gleaner.inputs i WHERE i.task = t.id)`,
  },
  {
    what: 'a task is held, and no batch of its session lists it, so that it would never go back',
    sql: 'SELECT id, fence FROM gleaner.tasks WHERE fence IS NOT NULL AND id NOT IN (SELECT id FROM gleaner.held)',
  },
  {
    what: 'a batch counts another number of tasks than workers hold in it',
    sql: `SELECT fence, unsettled FROM gleaner.batches b WHERE unsettled = 0
            OR unsettled <> (SELECT count(*) FROM gleaner.held h WHERE h.fence = b.fence)`,
  },
  {
    what: 'a limit counts another number of tasks than workers hold under it',
    sql: `SELECT g.scope, g.held FROM gleaner.gates g WHERE held <> (
            SELECT count(*) FROM gleaner.held h JOIN gleaner.lanes l ON l.id = h.lane
            WHERE l.queue_gate = g.id OR l.key_gate = g.id)`,
  },
  {
    what: 'a limit key has room and waiting tasks, and no worker would check it',
    sql: `SELECT t.lane FROM gleaner.turnstiles t JOIN gleaner.gates g ON g.id = t.gate
          WHERE ready = 0 AND wake_at IS NULL
            AND held < coalesce((SELECT concurrency FROM gleaner.limits WHERE scope = g.limit_scope), held + 1)
            AND EXISTS (SELECT 1 FROM gleaner.tasks w WHERE w.lane = t.lane AND status = 'queued' AND fence IS NULL
                          AND suspect = 0)`,
  },
  {
    what: 'tasks of an order key wait, and none of them leads, so that none would ever run',
    sql: `SELECT order_key, min(id) AS id FROM gleaner.tasks t WHERE leads = 0
            AND NOT EXISTS (SELECT 1 FROM gleaner.tasks l WHERE l.order_key = t.order_key AND l.leads = 1) GROUP BY order_key`,
  },
  {
    what: 'a task that waits behind another of its order key can be claimed, or one that leads cannot',
    sql: `SELECT id, leads, suspect FROM gleaner.tasks
          WHERE status = 'queued' AND leads IS NOT NULL AND (leads = 0) <> (suspect >= 2)`,
  },
  {
    what: 'lanes share a line, and are of different queues or have a limit key',
    sql: `SELECT l.id, l.line FROM gleaner.lanes l LEFT JOIN gleaner.lanes first ON first.id = l.line
          WHERE l.line IS NOT NULL AND (l.limit_key <> '' OR first.queue IS NOT l.queue OR first.line IS NOT l.line)`,
  },
  {
    what: 'a fence is higher than the sequence of fences',
    sql: `SELECT CAST(id AS TEXT) AS id, fence FROM gleaner.tasks
          WHERE fence > (SELECT value FROM gleaner.meta WHERE key = 'fence')
          UNION ALL SELECT discovery || '/' || row_key, fence FROM gleaner.claims
          WHERE fence > (SELECT value FROM gleaner.meta WHERE key = 'fence')`,
  },
]

export const COUNTING: Counting = {
  lanes: 'SELECT * FROM gleaner.lanes',
  // The others are counted when somebody asks.
  created: `t.id <= (SELECT value FROM gleaner.meta WHERE key = 'counted_through')`,
}

/**
 * Each look is one statement, and so of one moment: what others commit meanwhile is not half seen. What is damaged cannot be
 * asked anything more.
 */
export async function findingsIn(connection: Connection): Promise<Finding[]> {
  const damage = await connection.read(() => damageOf(connection))
  if (damage.length > 0) return damage
  const looks = []
  for (const flaw of flawsToLookFor(FLAWS, COUNTING)) {
    const sql = examplesOf(flaw).replaceAll('gleaner.', 'gleaner_')
    const rows = await connection.read(() => connection.raw.prepare(sql).all() as Finding['examples'])
    looks.push({ flaw, rows })
  }
  return findingsOf(looks)
}

/** SQLite's own opinion of the whole file, the app's tables included. */
export function damageOf({ raw }: Connection): Finding[] {
  const words: string[] = []
  try {
    for (const word of raw.prepare('PRAGMA integrity_check(20)').pluck().iterate()) words.push(String(word))
  } catch (error) {
    // Beyond some damage it gives up.
    if (!isDamaged(error)) throw error
    words.push((error as Error).message)
  }
  return words.filter((word) => word !== 'ok').map((word) => ({ what: `SQLite: ${word}`, examples: [] }))
}
