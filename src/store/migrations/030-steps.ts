import type { SharedMigration } from './migration.ts'

/** Named parts of a run whose results are kept. */
export const steps: SharedMigration = {
  version: 30,
  name: 'steps',
  sql: `
CREATE TABLE gleaner.steps (
  item       text NOT NULL,    -- the id of a task, or <discovery>/<key> of a row
  name       text NOT NULL,
  number     integer NOT NULL, -- from 1: a name that is used again is numbered
  kind       text NOT NULL,    -- result, cursor, sleep
  value      text,             -- JSON
  version    text,             -- of the row, null for a task
  attempt    integer NOT NULL,
  started_at bigint NOT NULL,
  kept_at    bigint NOT NULL,
  until      bigint,           -- when a sleep is over
  PRIMARY KEY (item, name, number)
) WITH (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_cost_delay = 1);
`,
}
