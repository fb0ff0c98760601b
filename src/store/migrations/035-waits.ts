import type { SharedMigration } from './migration.ts'

/** What suspended items wait for, and signals that were sent before their wait. */
export const waits: SharedMigration = {
  version: 35,
  name: 'waits',
  sql: `
CREATE TABLE gleaner.waits (
  item   text NOT NULL,    -- the id of a task, or <discovery>/<key> of a row
  kind   text NOT NULL,    -- signal, children
  name   text NOT NULL,
  number integer NOT NULL, -- of the step that waits
  task   bigint,           -- the id of the task, null for a row
  since  bigint NOT NULL,
  until  bigint,           -- its time-out, null for none
  PRIMARY KEY (item, kind, name, number)
) WITH (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_cost_delay = 1);
CREATE INDEX waits_task ON gleaner.waits (task) WHERE task IS NOT NULL;

CREATE TABLE gleaner.signals (
  id      bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  item    text NOT NULL,
  name    text NOT NULL,
  payload text,            -- JSON
  version text,            -- of the row, null for a task
  sent_at bigint NOT NULL
) WITH (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_cost_delay = 1);
CREATE INDEX signals_item ON gleaner.signals (item, name, id);
`,
}
