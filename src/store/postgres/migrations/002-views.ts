import { PRIORITY_STEP } from '../../../model/rank.ts'
import type { Migration } from '../migrate.ts'

/** What people look at with a SQL client; the same answers as the views on SQLite. */
export const views: Migration = {
  version: 2,
  name: 'views',
  sql: (schema) => `
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
LEFT JOIN (SELECT lane, count(*) AS n FROM ${schema}.tasks
           WHERE fence IS NOT NULL AND status = 'running' GROUP BY lane) running ON running.lane = l.id
LEFT JOIN (SELECT lane, count(*) AS n FROM ${schema}.tasks
           WHERE status = 'scheduled' AND run_after <= ${schema}.now_ms() GROUP BY lane) due ON due.lane = l.id;

CREATE VIEW ${schema}.queue_depth AS
SELECT c.queue, coalesce(q.paused, false) OR (SELECT value <> 0 FROM ${schema}.settings WHERE key = 'paused') AS paused, sum(c.scheduled) AS scheduled, sum(c.queued) AS queued,
       sum(c.running) AS running, sum(c.completed) AS completed, sum(c.failed) AS failed, sum(c.cancelled) AS cancelled
FROM ${schema}.lane_counts c LEFT JOIN ${schema}.queues q ON q.name = c.queue
GROUP BY c.queue, q.paused;

CREATE VIEW ${schema}.throughput AS
SELECT l.queue, l.name, t.status, t.finished_at / 60000 * 60000 AS minute, count(*) AS tasks
FROM ${schema}.lanes l
JOIN ${schema}.tasks t ON t.lane = l.id AND t.status IN ('completed', 'failed', 'cancelled')
  AND t.finished_at IS NOT NULL AND t.finished_at >= ${schema}.now_ms() - 3600000
GROUP BY l.queue, l.name, t.status, minute;

CREATE VIEW ${schema}.failures AS
SELECT t.id, l.queue, l.name, t.error::json ->> 'kind' AS kind, t.error::json ->> 'message' AS message,
       t.attempts, t.crashes, t.finished_at
FROM ${schema}.lanes l
JOIN ${schema}.tasks t ON t.lane = l.id AND t.status = 'failed' AND t.finished_at IS NOT NULL;

-- Steps from priority to priority instead of over all tasks: a rank is priority * ${PRIORITY_STEP} + time.
CREATE VIEW ${schema}.lane_oldest AS
WITH RECURSIVE head (lane, rank) AS (
  SELECT l.id, (SELECT min(rank) FROM ${schema}.tasks
                WHERE lane = l.id AND status = 'queued' AND fence IS NULL AND NOT suspect)
  FROM ${schema}.lanes l
  UNION ALL
  SELECT head.lane, (SELECT min(t.rank) FROM ${schema}.tasks t
                     WHERE t.lane = head.lane AND t.status = 'queued' AND t.fence IS NULL AND NOT t.suspect
                       AND t.rank >= (head.rank / ${PRIORITY_STEP} + 1) * ${PRIORITY_STEP})
  FROM head WHERE head.rank IS NOT NULL
)
SELECT head.lane, min(head.rank % ${PRIORITY_STEP}) AS waiting_since
FROM head WHERE head.rank IS NOT NULL GROUP BY head.lane;

CREATE VIEW ${schema}.oldest AS
SELECT l.queue, min(o.waiting_since) AS waiting_since, ${schema}.now_ms() - min(o.waiting_since) AS waiting_ms
FROM ${schema}.lane_oldest o JOIN ${schema}.lanes l ON l.id = o.lane
GROUP BY l.queue;

CREATE VIEW ${schema}.workers AS
SELECT s.worker, s.host, s.pid, s.queues, s.opened_at, s.renewed_at,
       (SELECT count(*) FROM ${schema}.tasks t WHERE t.session = s.id AND t.fence IS NOT NULL) AS held
FROM ${schema}.sessions s
WHERE s.ended_at IS NULL;
`,
}
