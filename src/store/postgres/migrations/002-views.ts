import { ERA_SPAN, ERAS, generationBounds, PRIORITY_STEP } from '../../../model/rank.ts'
import type { Migration } from './migration.ts'

const ERA_CASES = Array.from(
  { length: ERAS },
  (_, era) => `WHEN ${era} THEN ${generationBounds(era).start}`,
).join(' ')

/** What people look at with a SQL client; the same answers as the views on SQLite. */
export const views: Migration = {
  version: 2,
  name: 'views',
  sql: (schema) => `
${counts(schema)}
${ages(schema)}`,
}

function counts(schema: string): string {
  return `-- The tasks that workers hold now. The batches list candidates, and the row of each task decides. The planner assumes that nothing
-- runs, and OFFSET 0 keeps it from scanning all tasks first.
CREATE VIEW ${schema}.held AS
SELECT t.* FROM ${schema}.batches b CROSS JOIN LATERAL unnest(b.tasks) one(id)
CROSS JOIN LATERAL (SELECT * FROM ${schema}.tasks WHERE id = one.id AND fence = b.fence OFFSET 0) t;

CREATE VIEW ${schema}.lane_counts AS
SELECT l.id AS lane, l.queue, l.name,
       c.scheduled - coalesce(due.n, 0) AS scheduled,
       c.created - c.scheduled - c.completed - c.failed - c.cancelled - coalesce(running.n, 0) + coalesce(due.n, 0)
         AS queued,
       coalesce(running.n, 0) AS running,
       c.completed, c.failed, c.cancelled
FROM ${schema}.lanes l
CROSS JOIN LATERAL (
  SELECT l.created + coalesce(sum(t.created), 0) AS created, l.scheduled + coalesce(sum(t.scheduled), 0) AS scheduled,
         l.completed + coalesce(sum(t.completed), 0) AS completed, l.failed + coalesce(sum(t.failed), 0) AS failed,
         l.cancelled + coalesce(sum(t.cancelled), 0) AS cancelled
  FROM ${schema}.tallies t WHERE t.lane = l.id) c
LEFT JOIN (SELECT lane, count(*) AS n FROM ${schema}.held
           WHERE status = 'running' GROUP BY lane) running ON running.lane = l.id
LEFT JOIN (SELECT lane, count(*) AS n FROM ${schema}.tasks
           WHERE delayed AND run_after <= (SELECT ${schema}.now_ms()) GROUP BY lane) due ON due.lane = l.id;

CREATE VIEW ${schema}.queue_depth AS
SELECT c.queue, coalesce(q.paused, false) OR (SELECT value <> 0 FROM ${schema}.settings WHERE key = 'paused') AS paused, sum(c.scheduled) AS scheduled, sum(c.queued) AS queued,
       sum(c.running) AS running, sum(c.completed) AS completed, sum(c.failed) AS failed, sum(c.cancelled) AS cancelled
FROM ${schema}.lane_counts c LEFT JOIN ${schema}.queues q ON q.name = c.queue
GROUP BY c.queue, q.paused;

CREATE VIEW ${schema}.throughput AS
SELECT l.queue, l.name, f.status, f.finished_at / 60000 * 60000 AS minute, sum(cardinality(f.tasks))::bigint AS tasks
FROM ${schema}.lanes l
JOIN ${schema}.finished f ON f.lane = l.id AND f.status IN ('completed', 'failed', 'cancelled')
  AND f.finished_at >= ${schema}.now_ms() - 3600000
GROUP BY l.queue, l.name, f.status, minute;

CREATE VIEW ${schema}.failures AS
SELECT t.id, l.queue, l.name, e.error ->> 'kind' AS kind, e.error ->> 'message' AS message,
       t.attempts, t.crashes, t.finished_at
FROM ${schema}.lanes l
JOIN ${schema}.finished f ON f.lane = l.id AND f.status = 'failed'
CROSS JOIN LATERAL unnest(f.tasks) one(id)
JOIN ${schema}.tasks t ON t.id = one.id
-- A text of PostgreSQL holds no NUL, and its JSON functions fail on \\u0000.
CROSS JOIN LATERAL (SELECT replace(t.error, '\\u0000', '?')::json AS error) e;`
}

function ages(schema: string): string {
  return `
-- The first rank of each lane's queue. 'timed': a rank is first + priority * 2^42 + time, or first + time.
CREATE VIEW ${schema}.lane_ranks AS
SELECT l.id AS lane, l.queue,
       CASE coalesce(q.era, 0) ${ERA_CASES} END AS first,
       coalesce(q.strategy <> 'weighted' AND q.ageing_ms IS NULL, true) AS timed
FROM ${schema}.lanes l LEFT JOIN ${schema}.queues q ON q.name = l.queue;

-- If ranks contain the time, the query steps from priority to priority instead of over all tasks. Otherwise it reads
-- the next thousand tasks of each lane.
CREATE VIEW ${schema}.lane_oldest AS
WITH RECURSIVE head (lane, first, place) AS (
  SELECT r.lane, r.first, (SELECT min(rank) FROM ${schema}.tasks
                           WHERE lane = r.lane AND in_line AND NOT suspect
                             AND rank >= r.first) - r.first
  FROM ${schema}.lane_ranks r WHERE r.timed
  UNION ALL
  SELECT head.lane, head.first, (SELECT min(t.rank) FROM ${schema}.tasks t
                     WHERE t.lane = head.lane AND t.in_line AND NOT t.suspect
                       AND t.rank >= head.first + (head.place / ${PRIORITY_STEP} + 1) * ${PRIORITY_STEP}) - head.first
  FROM head WHERE head.place < ${ERA_SPAN}
), waiting (lane, since) AS (
  SELECT lane, place % ${PRIORITY_STEP} FROM head WHERE place < ${ERA_SPAN}
  UNION ALL
  SELECT r.lane, (SELECT min(since) FROM (
                    SELECT greatest(created_at, run_after) AS since FROM ${schema}.tasks
                    WHERE lane = r.lane AND in_line AND NOT suspect
                    ORDER BY rank, id LIMIT 1000) next)
  FROM ${schema}.lane_ranks r WHERE NOT r.timed
)
SELECT lane, min(since) AS waiting_since FROM waiting WHERE since IS NOT NULL GROUP BY lane;

CREATE VIEW ${schema}.oldest AS
SELECT l.queue, min(o.waiting_since) AS waiting_since, ${schema}.now_ms() - min(o.waiting_since) AS waiting_ms
FROM ${schema}.lane_oldest o JOIN ${schema}.lanes l ON l.id = o.lane
GROUP BY l.queue;

CREATE VIEW ${schema}.workers AS
SELECT s.worker, s.host, s.pid, s.queues, s.opened_at, s.renewed_at,
       (SELECT count(*) FROM ${schema}.batches b CROSS JOIN LATERAL unnest(b.tasks) one(id)
        JOIN ${schema}.tasks t ON t.id = one.id AND t.fence = b.fence WHERE b.session = s.id) AS held
FROM ${schema}.sessions s
WHERE s.ended_at IS NULL;
`
}
