import type { Migration } from './migration.ts'

/**
 * Work found in the user's own tables. A row's key is text here, whatever its column's type: of several columns a JSON array. An
 * untyped column would be compared with the affinity of the user's, and then no index serves.
 */
export const discoveryMigration: Migration = {
  version: 7,
  name: 'discovery',
  sql: `
CREATE TABLE gleaner_discoveries (
  name          TEXT PRIMARY KEY,
  source        TEXT NOT NULL, -- what was declared, as JSON
  create_index  TEXT,          -- the index that is missing
  paused        INTEGER NOT NULL DEFAULT 0,
  paused_reason TEXT,
  position      TEXT           -- behind the last of many rows that were claimed together: where others go on
) STRICT, WITHOUT ROWID;

-- Who works on what: the primary key decides who was first. Few at any time, so that what a session holds is found by reading all.
CREATE TABLE gleaner_claims (
  discovery   TEXT NOT NULL,
  row_key     TEXT NOT NULL,
  session     INTEGER NOT NULL,
  fence       INTEGER NOT NULL,
  row_version TEXT NOT NULL,
  attempt     INTEGER NOT NULL,
  claimed_at  INTEGER NOT NULL,
  started_at  INTEGER, -- null while it is held ahead
  PRIMARY KEY (discovery, row_key)
) STRICT, WITHOUT ROWID;

-- What is remembered of rows that failed; it holds for the row as it was then (row_version). Deleting any of it is safe.
CREATE TABLE gleaner_ledger (
  discovery     TEXT NOT NULL,
  row_key       TEXT NOT NULL,
  row_version   TEXT NOT NULL,
  attempts      INTEGER NOT NULL,
  crashes       INTEGER NOT NULL,
  changes       INTEGER NOT NULL,
  suspect       INTEGER NOT NULL,
  quarantined   INTEGER NOT NULL,
  blocked_until INTEGER NOT NULL, -- 0: nothing keeps it back
  error         TEXT,
  history       TEXT NOT NULL,
  since         INTEGER NOT NULL,
  PRIMARY KEY (discovery, row_key)
) STRICT, WITHOUT ROWID;
CREATE INDEX gleaner_ledger_blocked ON gleaner_ledger (discovery, quarantined, blocked_until);
CREATE INDEX gleaner_ledger_suspect ON gleaner_ledger (discovery, row_key) WHERE suspect = 1;
`,
}
