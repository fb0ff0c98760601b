import { OWN_LINES_MAX } from '../../lane.ts'
import type { Migration } from './migration.ts'

/** Lanes from the ninth of a queue on share its line. The columns mean the same as on SQLite. */
export const SHARE_LINES = `
INSERT INTO gleaner.lines (queue) SELECT queue FROM gleaner.lanes WHERE limit_key = '' GROUP BY queue
HAVING pg_catalog.count(*) > ${OWN_LINES_MAX} ON CONFLICT DO NOTHING;
UPDATE gleaner.lanes SET line = lines.id
FROM gleaner.lines, (SELECT id, pg_catalog.row_number() OVER (PARTITION BY queue ORDER BY id) AS place
                     FROM gleaner.lanes WHERE limit_key = '') placed
WHERE placed.id = lanes.id AND place > ${OWN_LINES_MAX} AND lines.queue = lanes.queue;
UPDATE gleaner.tasks SET line = lanes.line FROM gleaner.lanes
WHERE lanes.id = tasks.lane AND lanes.line IS NOT NULL AND tasks.finished_at IS NULL`

/**
 * A line is what the lanes of a queue share when there are many: its tasks in the order of their ranks, whatever their lanes. One
 * row for each queue with a line, so that processes that make lanes at the same time agree on its number.
 */
export const lines: Migration = {
  version: 28,
  name: 'lines',
  sql: (schema) => `
CREATE TABLE ${schema}.lines (
  queue text PRIMARY KEY,
  id    integer GENERATED ALWAYS AS IDENTITY UNIQUE
);
ALTER TABLE ${schema}.lanes ADD COLUMN line integer; -- null: the lane is claimed from by itself
ALTER TABLE ${schema}.tasks ADD COLUMN line integer; -- that of its lane
${SHARE_LINES.replaceAll('gleaner.', `${schema}.`)};
CREATE INDEX tasks_line ON ${schema}.tasks (line, rank, id) WHERE line IS NOT NULL AND in_line AND NOT suspect;
`,
}
