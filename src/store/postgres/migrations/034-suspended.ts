import type { Migration } from './migration.ts'

/**
 * The status of a task that waits for a signal or for children. With a time-out it becomes due as a scheduled task does: it is
 * 'delayed', too.
 */
export const suspended: Migration = {
  version: 34,
  name: 'suspended',
  sql: (schema) => `
ALTER TABLE ${schema}.lanes ADD COLUMN suspended bigint NOT NULL DEFAULT 0;
ALTER TABLE ${schema}.tallies ADD COLUMN suspended integer NOT NULL DEFAULT 0;
ALTER TABLE ${schema}.ledger ADD COLUMN suspended boolean NOT NULL DEFAULT false; -- blocked_until is its time-out

DROP VIEW ${schema}.queue_depth;
DROP VIEW ${schema}.lane_counts;
CREATE VIEW ${schema}.lane_counts AS
SELECT l.id AS lane, l.queue, l.name,
       c.scheduled - coalesce(due.scheduled, 0) AS scheduled,
       c.created - c.scheduled - c.suspended - c.completed - c.failed - c.cancelled - coalesce(running.n, 0)
         + coalesce(due.scheduled + due.suspended, 0) AS queued,
       coalesce(running.n, 0) AS running,
       c.suspended - coalesce(due.suspended, 0) AS suspended,
       c.completed, c.failed, c.cancelled
FROM ${schema}.lanes l
CROSS JOIN LATERAL (
  SELECT l.created + coalesce(sum(t.created), 0) AS created, l.scheduled + coalesce(sum(t.scheduled), 0) AS scheduled,
         l.suspended + coalesce(sum(t.suspended), 0) AS suspended,
         l.completed + coalesce(sum(t.completed), 0) AS completed, l.failed + coalesce(sum(t.failed), 0) AS failed,
         l.cancelled + coalesce(sum(t.cancelled), 0) AS cancelled
  FROM ${schema}.tallies t WHERE t.lane = l.id) c
LEFT JOIN (SELECT lane, count(*) AS n FROM ${schema}.held
           WHERE status = 'running' GROUP BY lane) running ON running.lane = l.id
LEFT JOIN (SELECT lane, count(*) FILTER (WHERE status = 'scheduled') AS scheduled,
                  count(*) FILTER (WHERE status = 'suspended') AS suspended FROM ${schema}.tasks
           WHERE delayed AND run_after <= (SELECT ${schema}.now_ms()) GROUP BY lane) due ON due.lane = l.id;

CREATE VIEW ${schema}.queue_depth AS
SELECT c.queue, coalesce(q.paused, false) OR (SELECT value <> 0 FROM ${schema}.settings WHERE key = 'paused') AS paused,
       sum(c.scheduled) AS scheduled, sum(c.queued) AS queued, sum(c.running) AS running, sum(c.suspended) AS suspended,
       sum(c.completed) AS completed, sum(c.failed) AS failed, sum(c.cancelled) AS cancelled
FROM ${schema}.lane_counts c LEFT JOIN ${schema}.queues q ON q.name = c.queue
GROUP BY c.queue, q.paused;
`,
}
