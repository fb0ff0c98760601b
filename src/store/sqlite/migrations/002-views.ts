import type { Migration } from './migration.ts'

/** Not unixepoch('subsec'): clients older than SQLite 3.42 answer it with NULL. */
const NOW_MS = `CAST((julianday('now') - 2440587.5) * 86400000 AS INTEGER)`

/** What people look at with a SQL client. Each answers from indexes, however large the backlog is. */
export const views: Migration = {
  version: 2,
  name: 'views',
  sql: `
-- The tasks that workers hold now. The batches list candidates, and the row of each task decides.
CREATE VIEW gleaner_held AS
SELECT t.* FROM gleaner_batches b CROSS JOIN json_each(b.tasks) one
CROSS JOIN gleaner_tasks t ON t.id = one.value AND t.fence = b.fence AND t.session = b.session;

-- Exact counts of tasks per lane and status.
CREATE VIEW gleaner_lane_counts AS
SELECT l.id AS lane, l.queue, l.name,
       l.scheduled - coalesce(due.n, 0) AS scheduled,
       l.created + coalesce(uncounted.n, 0) - l.scheduled - l.completed - l.failed - l.cancelled
         - coalesce(running.n, 0) + coalesce(due.n, 0) AS queued,
       coalesce(running.n, 0) AS running,
       l.completed, l.failed, l.cancelled
FROM gleaner_lanes l
LEFT JOIN (SELECT lane, count(*) AS n FROM gleaner_tasks
           WHERE id > (SELECT value FROM gleaner_meta WHERE key = 'counted_through')
           GROUP BY lane) uncounted ON uncounted.lane = l.id
LEFT JOIN (SELECT lane, count(*) AS n FROM gleaner_held
           WHERE status = 'running' GROUP BY lane) running ON running.lane = l.id
LEFT JOIN (SELECT lane, count(*) AS n FROM gleaner_tasks
           WHERE status = 'scheduled' AND run_after <= ${NOW_MS} GROUP BY lane) due ON due.lane = l.id;

CREATE VIEW gleaner_queue_depth AS
SELECT c.queue,
       max(coalesce(q.paused, 0), (SELECT value FROM gleaner_meta WHERE key = 'paused')) AS paused,
       sum(c.scheduled) AS scheduled, sum(c.queued) AS queued, sum(c.running) AS running,
       sum(c.completed) AS completed, sum(c.failed) AS failed, sum(c.cancelled) AS cancelled
FROM gleaner_lane_counts c LEFT JOIN gleaner_queues q ON q.name = c.queue
GROUP BY c.queue;

-- Finished tasks per minute in the last hour.
CREATE VIEW gleaner_throughput AS
SELECT l.queue, l.name, t.status, t.finished_at / 60000 * 60000 AS minute, count(*) AS tasks
FROM gleaner_lanes l
JOIN gleaner_tasks t ON t.lane = l.id AND t.status IN ('completed', 'failed', 'cancelled')
  AND t.finished_at IS NOT NULL AND t.finished_at >= ${NOW_MS} - 3600000
GROUP BY l.queue, l.name, t.status, minute;

CREATE VIEW gleaner_failures AS
SELECT t.id, l.queue, l.name, t.error ->> 'kind' AS kind, t.error ->> 'message' AS message,
       t.attempts, t.crashes, t.finished_at
FROM gleaner_lanes l
JOIN gleaner_tasks t ON t.lane = l.id AND t.status = 'failed' AND t.finished_at IS NOT NULL;

-- The first rank of each lane's queue. 'timed': a rank is first + priority * 2^42 + time, or first + time.
CREATE VIEW gleaner_lane_ranks AS
SELECT l.id AS lane, l.queue,
       CASE q.era WHEN 1 THEN 4503599627370496 WHEN 2 THEN -9007199254740992 WHEN 3 THEN -4503599627370496 ELSE 0 END
         AS first,
       coalesce(q.strategy <> 'weighted' AND q.ageing_ms IS NULL, 1) AS timed
FROM gleaner_lanes l LEFT JOIN gleaner_queues q ON q.name = l.queue;

-- When the longest waiting task of each lane began to wait. If ranks contain the time, the query steps from priority to
-- priority instead of over all tasks. Otherwise it reads the next thousand tasks of each lane.
CREATE VIEW gleaner_lane_oldest AS
WITH RECURSIVE head (lane, first, place) AS (
  SELECT r.lane, r.first, (SELECT min(rank) FROM gleaner_tasks
                           WHERE lane = r.lane AND status = 'queued' AND fence IS NULL AND suspect = 0
                             AND rank >= r.first) - r.first
  FROM gleaner_lane_ranks r WHERE r.timed
  UNION ALL
  SELECT head.lane, head.first, (SELECT min(t.rank) FROM gleaner_tasks t
                     WHERE t.lane = head.lane AND t.status = 'queued' AND t.fence IS NULL AND t.suspect = 0
                       AND t.rank >= head.first + (head.place / 4398046511104 + 1) * 4398046511104) - head.first
  FROM head WHERE head.place < 4503599627370496
), waiting (lane, since) AS (
  SELECT lane, place % 4398046511104 FROM head WHERE place < 4503599627370496
  UNION ALL
  SELECT r.lane, (SELECT min(since) FROM (
                    SELECT max(created_at, coalesce(run_after, 0)) AS since FROM gleaner_tasks
                    WHERE lane = r.lane AND status = 'queued' AND fence IS NULL AND suspect = 0
                    ORDER BY rank LIMIT 1000))
  FROM gleaner_lane_ranks r WHERE NOT r.timed
)
SELECT lane, min(since) AS waiting_since FROM waiting WHERE since IS NOT NULL GROUP BY lane;

CREATE VIEW gleaner_oldest AS
SELECT l.queue, min(o.waiting_since) AS waiting_since, ${NOW_MS} - min(o.waiting_since) AS waiting_ms
FROM gleaner_lane_oldest o JOIN gleaner_lanes l ON l.id = o.lane
GROUP BY l.queue;

CREATE VIEW gleaner_workers AS
SELECT s.worker, s.host, s.pid, s.queues, s.opened_at, s.renewed_at,
       (SELECT coalesce(sum(b.unsettled), 0) FROM gleaner_batches b WHERE b.session = s.id) AS held
FROM gleaner_sessions s
WHERE s.ended_at IS NULL;
`,
}
