import type { Migration } from '../server/migrate.ts'

/** What recurs: one row for each task that does, which decides who enqueues the next one. */
export const schedules: Migration = {
  version: 3,
  name: 'schedules',
  sql: (schema) => `
CREATE TABLE ${schema}.schedules (
  name      text PRIMARY KEY,
  every     text NOT NULL,
  timezone  text, -- NULL for an interval
  next_at   bigint NOT NULL,
  last_at   bigint,
  last_task bigint,
  paused    boolean NOT NULL DEFAULT false
);
`,
}
