import type { Migration } from './migration.ts'

/** What happened in each minute, as long as it is kept; and keys that rest. */
export const management: Migration = {
  version: 6,
  name: 'management',
  sql: `
CREATE TABLE gleaner_minutes (
  minute    INTEGER NOT NULL,
  queue     TEXT NOT NULL,
  name      TEXT NOT NULL,
  enqueued  INTEGER NOT NULL,
  completed INTEGER NOT NULL,
  failed    INTEGER NOT NULL,
  retried   INTEGER NOT NULL,
  durations TEXT NOT NULL, -- a histogram: [[bucket, count], …]
  incidents TEXT NOT NULL DEFAULT '[]', -- [[kind, count], …]
  PRIMARY KEY (minute, queue, name)
) STRICT, WITHOUT ROWID;

-- Keys of which no other task is wanted for a time, whatever became of this one.
CREATE TABLE gleaner_throttles (
  key   TEXT PRIMARY KEY,
  task  INTEGER NOT NULL,
  until INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX gleaner_throttles_until ON gleaner_throttles (until);
`,
}
