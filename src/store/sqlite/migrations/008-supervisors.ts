import type { Migration } from '../file/migrate.ts'

/** Who supervises worker processes, what he says of them, and what he is told to do. */
export const supervisors: Migration = {
  version: 8,
  name: 'supervisors',
  sql: `
CREATE TABLE gleaner_supervisors (
  name       TEXT PRIMARY KEY,
  term       INTEGER NOT NULL,
  host       TEXT NOT NULL,
  boot       TEXT NOT NULL,
  pid        INTEGER NOT NULL,
  start_time TEXT,
  since      INTEGER NOT NULL,
  seen_at    INTEGER NOT NULL,
  has_left   INTEGER NOT NULL DEFAULT 0,
  workers    TEXT NOT NULL DEFAULT '[]' -- JSON: a record of each, and its restarts
) STRICT, WITHOUT ROWID;

CREATE TABLE gleaner_commands (
  id         INTEGER PRIMARY KEY AUTOINCREMENT,
  supervisor TEXT NOT NULL,
  action     TEXT NOT NULL,
  worker     TEXT, -- NULL: all of them
  created_at INTEGER NOT NULL
) STRICT;
CREATE INDEX gleaner_commands_supervisor ON gleaner_commands (supervisor, id);
`,
}
