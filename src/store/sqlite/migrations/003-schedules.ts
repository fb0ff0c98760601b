import type { Migration } from '../file/migrate.ts'

/** What recurs: one row for each task that does, which decides who enqueues the next one. */
export const schedules: Migration = {
  version: 3,
  name: 'schedules',
  sql: `
CREATE TABLE gleaner_schedules (
  name      TEXT PRIMARY KEY,
  every     TEXT NOT NULL,
  timezone  TEXT, -- NULL for an interval
  next_at   INTEGER NOT NULL,
  last_at   INTEGER,
  last_task INTEGER,
  paused    INTEGER NOT NULL DEFAULT 0
) STRICT, WITHOUT ROWID;
`,
}
