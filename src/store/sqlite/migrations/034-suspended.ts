import type { Migration } from './migration.ts'

const NOW_MS = `CAST((julianday('now') - 2440587.5) * 86400000 AS INTEGER)`

/** The status of a task that waits for a signal or for children. With a time-out it becomes due as a scheduled task does. */
export const suspended: Migration = {
  version: 34,
  name: 'suspended',
  sql: `
ALTER TABLE gleaner_lanes ADD COLUMN suspended INTEGER NOT NULL DEFAULT 0;
ALTER TABLE gleaner_ledger ADD COLUMN suspended INTEGER NOT NULL DEFAULT 0; -- blocked_until is its time-out

DROP INDEX gleaner_tasks_scheduled;
CREATE INDEX gleaner_tasks_delayed ON gleaner_tasks (run_after)
  WHERE status IN ('scheduled', 'suspended') AND run_after IS NOT NULL;
DROP INDEX gleaner_tasks_key;
CREATE UNIQUE INDEX gleaner_tasks_key ON gleaner_tasks (key)
  WHERE key IS NOT NULL AND status IN ('scheduled', 'queued', 'running', 'suspended');

DROP VIEW gleaner_queue_depth;
DROP VIEW gleaner_lane_counts;
CREATE VIEW gleaner_lane_counts AS
SELECT l.id AS lane, l.queue, l.name,
       l.scheduled - coalesce(due.scheduled, 0) AS scheduled,
       l.created + coalesce(uncounted.n, 0) - l.scheduled - l.suspended - l.completed - l.failed - l.cancelled
         - coalesce(running.n, 0) + coalesce(due.scheduled + due.suspended, 0) AS queued,
       coalesce(running.n, 0) AS running,
       l.suspended - coalesce(due.suspended, 0) AS suspended,
       l.completed, l.failed, l.cancelled
FROM gleaner_lanes l
LEFT JOIN (SELECT lane, count(*) AS n FROM gleaner_tasks
           WHERE id > (SELECT value FROM gleaner_meta WHERE key = 'counted_through')
           GROUP BY lane) uncounted ON uncounted.lane = l.id
LEFT JOIN (SELECT lane, count(*) AS n FROM gleaner_held
           WHERE status = 'running' GROUP BY lane) running ON running.lane = l.id
LEFT JOIN (SELECT lane, sum(status = 'scheduled') AS scheduled, sum(status = 'suspended') AS suspended FROM gleaner_tasks
           WHERE status IN ('scheduled', 'suspended') AND run_after IS NOT NULL AND run_after <= ${NOW_MS}
           GROUP BY lane) due ON due.lane = l.id;

CREATE VIEW gleaner_queue_depth AS
SELECT c.queue,
       max(coalesce(q.paused, 0), (SELECT value FROM gleaner_meta WHERE key = 'paused')) AS paused,
       sum(c.scheduled) AS scheduled, sum(c.queued) AS queued, sum(c.running) AS running, sum(c.suspended) AS suspended,
       sum(c.completed) AS completed, sum(c.failed) AS failed, sum(c.cancelled) AS cancelled
FROM gleaner_lane_counts c LEFT JOIN gleaner_queues q ON q.name = c.queue
GROUP BY c.queue;
`,
}
