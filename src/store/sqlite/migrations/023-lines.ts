import { OWN_LINES_MAX } from '../../lane.ts'
import type { Migration } from './migration.ts'

/**
 * A line is what the lanes of a queue share when there are many: its tasks in the order of their ranks, whatever their lanes.
 * A claim reads one line instead of one lane after the other.
 */
export const lines: Migration = {
  version: 23,
  name: 'lines',
  sql: `
ALTER TABLE gleaner_lanes ADD COLUMN line INTEGER; -- null: the lane is claimed from by itself
ALTER TABLE gleaner_tasks ADD COLUMN line INTEGER; -- that of its lane

UPDATE gleaner_lanes SET line = shared.line
FROM (SELECT id, first_value(id) OVER (PARTITION BY queue ORDER BY id) AS line
      FROM (SELECT id, queue, row_number() OVER (PARTITION BY queue ORDER BY id) AS place
            FROM gleaner_lanes WHERE limit_key = '')
      WHERE place > ${OWN_LINES_MAX}) shared
WHERE gleaner_lanes.id = shared.id;
UPDATE gleaner_tasks SET line = (SELECT l.line FROM gleaner_lanes l WHERE l.id = gleaner_tasks.lane)
WHERE finished_at IS NULL AND EXISTS (SELECT 1 FROM gleaner_lanes WHERE line IS NOT NULL);

CREATE INDEX gleaner_lanes_line ON gleaner_lanes (queue) WHERE line IS NOT NULL;
CREATE INDEX gleaner_tasks_line ON gleaner_tasks (line, rank)
  WHERE line IS NOT NULL AND status = 'queued' AND fence IS NULL AND suspect = 0;
`,
}
