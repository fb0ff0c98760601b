import type { SharedMigration } from './migration.ts'

/** Recurring tasks: the row of a task decides which process enqueues the next one. */
export const schedulesMigration: SharedMigration = {
  version: 3,
  name: 'schedules',
  sql: `
CREATE TABLE gleaner.schedules (
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
