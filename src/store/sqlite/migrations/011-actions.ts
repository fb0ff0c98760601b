import type { Migration } from './migration.ts'

/** What operators asked for. It is only ever added to. */
export const actionsMigration: Migration = {
  version: 11,
  name: 'actions',
  sql: `
CREATE TABLE gleaner_actions (
  id      INTEGER PRIMARY KEY AUTOINCREMENT,
  at      INTEGER NOT NULL,
  action  TEXT NOT NULL,
  target  TEXT,
  role    TEXT NOT NULL,
  user    TEXT,
  address TEXT,
  details TEXT -- JSON
) STRICT;
CREATE TRIGGER gleaner_actions_stay BEFORE DELETE ON gleaner_actions
BEGIN SELECT RAISE(ABORT, 'the record of actions is only added to'); END;
CREATE TRIGGER gleaner_actions_stand BEFORE UPDATE ON gleaner_actions
BEGIN SELECT RAISE(ABORT, 'the record of actions is only added to'); END;
`,
}
