import type { Migration } from './migration.ts'

/** How much was left in each minute, as long as minutes are kept; and the backups that were made. */
export const levelsMigration: Migration = {
  version: 17,
  name: 'levels and backups',
  sql: `
CREATE TABLE gleaner_levels (
  name   TEXT NOT NULL, -- of a discovery; :tasks
  minute INTEGER NOT NULL,
  at     INTEGER NOT NULL, -- when it was looked at last in that minute
  left   INTEGER NOT NULL, -- unfinished tasks, or rows that are not done
  done   INTEGER NOT NULL, -- rows that were ever done
  PRIMARY KEY (name, minute)
) STRICT, WITHOUT ROWID;

CREATE TABLE gleaner_backups (
  id         INTEGER PRIMARY KEY AUTOINCREMENT,
  path       TEXT NOT NULL,
  started_at INTEGER NOT NULL,
  took_ms    INTEGER NOT NULL,
  bytes      INTEGER, -- null: it failed
  error      TEXT
) STRICT;
`,
}
