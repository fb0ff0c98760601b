import { ACTIVE_KEY_WITHOUT_MARK } from '../../follower.ts'
import type { Finding } from '../../ports/maintenance.ts'
import { type Counting, examplesOf, type Flaw, findingsOf, flawsToLookFor } from '../../soundness.ts'
import type { Sql } from '../server/sql.ts'

export const FLAWS: readonly Flaw[] = [
  {
    what: 'a task is held, and no batch of its session lists it, so that it would never go back',
    sql: `SELECT id, fence FROM gleaner.tasks t WHERE fence IS NOT NULL AND NOT EXISTS (
            SELECT 1 FROM gleaner.batches b WHERE b.fence = t.fence AND b.session = t.session AND t.id = ANY(b.tasks))`,
  },
  {
    what: 'a batch belongs to a session that has ended',
    sql: `SELECT fence, session FROM gleaner.batches
          WHERE session NOT IN (SELECT id FROM gleaner.sessions WHERE ended_at IS NULL)`,
  },
  {
    what: 'a finished task is missing from the list of finished tasks or is in it twice, or an unfinished task is in it',
    sql: `SELECT coalesce(t.id, f.id) AS id, t.status, f.status AS found FROM
            (SELECT * FROM gleaner.tasks WHERE finished_at IS NOT NULL) t
            FULL JOIN (SELECT lane, status, finished_at, pg_catalog.unnest(tasks) AS id FROM gleaner.finished) f
              ON f.id = t.id AND f.status = t.status AND f.lane = t.lane AND f.finished_at = t.finished_at
          WHERE t.id IS NULL OR f.id IS NULL
          UNION ALL
          SELECT id, NULL, 'twice' FROM (SELECT pg_catalog.unnest(tasks) AS id FROM gleaner.finished) f GROUP BY id HAVING pg_catalog.count(*) > 1`,
  },
  {
    what: 'the indexed columns of a task contradict its status',
    sql: `SELECT id, status, in_line, delayed, active_key FROM gleaner.tasks
          WHERE in_line <> (status = 'queued' AND fence IS NULL AND leads IS NOT FALSE) OR delayed <> (status IN ('scheduled', 'suspended') AND run_after IS NOT NULL)
            OR ${ACTIVE_KEY_WITHOUT_MARK} IS DISTINCT FROM CASE WHEN finished_at IS NULL THEN key END`,
  },
  {
    what: 'a fence is higher than the sequence of fences',
    sql: 'SELECT id, fence FROM gleaner.tasks WHERE fence > (SELECT last_value FROM gleaner.fence)',
  },
  // The limit of a queue is compared with what is held now and then: it may have come while others claimed without it.
  {
    what: 'a limit counts another number of tasks than workers hold under it',
    sql: `SELECT g.scope, g.held FROM gleaner.gates g WHERE scope LIKE 'key/%'
            AND held - (SELECT coalesce(pg_catalog.sum(freed), 0) FROM gleaner.gate_news n WHERE n.gate = g.id) <> (
            SELECT pg_catalog.count(*) FROM gleaner.tasks h JOIN gleaner.lanes l ON l.id = h.lane
            WHERE h.fence IS NOT NULL AND l.key_gate = g.id)`,
  },
  {
    what: 'a limit key has room and waiting tasks, and no worker would check it',
    sql: `SELECT t.lane FROM gleaner.turnstiles t JOIN gleaner.gates g ON g.id = t.gate
          WHERE NOT ready AND wake_at IS NULL
            AND NOT EXISTS (SELECT 1 FROM gleaner.gate_news n WHERE n.gate = g.id)
            AND held < coalesce((SELECT concurrency FROM gleaner.limits WHERE scope = g.limit_scope), held + 1)
            AND EXISTS (SELECT 1 FROM gleaner.tasks w WHERE w.lane = t.lane AND status = 'queued' AND fence IS NULL
                          AND NOT suspect)`,
  },
  {
    what: 'tasks of an order key wait, and none of them leads, so that none would ever run',
    sql: `SELECT order_key, pg_catalog.min(id) AS id FROM gleaner.tasks t WHERE NOT leads
            AND NOT EXISTS (SELECT 1 FROM gleaner.tasks l WHERE l.order_key = t.order_key AND l.leads)
            AND NOT EXISTS (SELECT 1 FROM gleaner.order_outbox n WHERE n.key = t.order_key) GROUP BY order_key`,
  },
  {
    what: 'lanes share a line, and are of different queues or have a limit key',
    sql: `SELECT l.id, l.line FROM gleaner.lanes l LEFT JOIN gleaner.lines ON lines.id = l.line
          WHERE l.line IS NOT NULL AND (l.limit_key <> '' OR lines.queue IS DISTINCT FROM l.queue)`,
  },
  {
    what: 'a counter entry belongs to a lane that does not exist',
    sql: 'SELECT lane FROM gleaner.tallies WHERE lane NOT IN (SELECT id FROM gleaner.lanes)',
  },
  {
    what: 'an index is not valid',
    sql: `SELECT indexrelid::regclass::text AS name FROM pg_index
          WHERE indrelid IN ('gleaner.tasks'::regclass, 'gleaner.logs'::regclass, 'gleaner.attempts'::regclass,
            'gleaner.forever_keys'::regclass, 'gleaner.sessions'::regclass, 'gleaner.lanes'::regclass, 'gleaner.batches'::regclass,
            'gleaner.finished'::regclass)
            AND NOT (indisvalid AND indisready AND indislive)`,
  },
]

const COUNTERS = ['created', 'scheduled', 'suspended', 'completed', 'failed', 'cancelled']

export const COUNTING: Counting = {
  lanes: `SELECT l.id, l.name, ${COUNTERS.map((c) => `l.${c} + coalesce(pg_catalog.sum(t.${c}), 0) AS ${c}`).join(', ')}
          FROM gleaner.lanes l LEFT JOIN gleaner.tallies t ON t.lane = l.id GROUP BY l.id`,
  created: 'true',
}

/** Each look is one statement, and so of one moment: what others commit meanwhile is not half seen. */
export async function findingsIn(sql: Sql): Promise<Finding[]> {
  const looks = []
  for (const flaw of flawsToLookFor(FLAWS, COUNTING)) {
    looks.push({ flaw, rows: await sql.rows<Record<string, unknown>>(examplesOf(flaw)) })
  }
  return [...findingsOf(looks), ...(await brokenIndexes(sql))]
}

/** Each index against its table, where `amcheck` is installed and we may use it. It holds nobody up. */
async function brokenIndexes(sql: Sql): Promise<Finding[]> {
  const checker = await sql.row<{ name: string }>(
    `SELECT pg_catalog.quote_ident(n.nspname) || '.bt_index_check' AS name
     FROM pg_extension e JOIN pg_namespace n ON n.oid = e.extnamespace
     JOIN pg_proc p ON p.pronamespace = n.oid AND p.proname = 'bt_index_check' AND p.pronargs = 2
     WHERE e.extname = 'amcheck' AND pg_catalog.has_function_privilege(p.oid, 'EXECUTE')`,
  )
  if (checker === undefined) return []
  const indexes = await sql.rows<{ oid: number; name: string }>(
    `SELECT c.oid::bigint AS oid, c.relname AS name FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
     JOIN pg_am a ON a.oid = c.relam WHERE n.nspname = $1 AND c.relkind = 'i' AND a.amname = 'btree'`,
    [sql.schema],
  )
  const findings: Finding[] = []
  for (const { oid, name } of indexes) {
    await sql.run(`SELECT ${checker.name}($1::oid::regclass, true)`, [oid]).catch((error) => {
      if (error.code === 'STORE_AWAY') throw error
      findings.push({ what: error.message, examples: [{ index: name }] })
    })
  }
  return findings
}
