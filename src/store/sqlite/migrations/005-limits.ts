import type { Migration } from './migration.ts'

/**
 * Limits. 'limits' in gleaner_meta counts the changes of their numbers, so that nobody reads them again for nothing;
 * 'keyed' says that there ever was a key, so that nobody looks for turnstiles where there are none.
 */
export const limits: Migration = {
  version: 5,
  name: 'limits',
  sql: `
INSERT INTO gleaner_meta VALUES ('limits', 0), ('keyed', 0);

-- The numbers, as the code that was opened last has them: 'queue/<name>', or 'task/<name>' for each key of it.
CREATE TABLE gleaner_limits (
  scope       TEXT PRIMARY KEY,
  concurrency INTEGER,
  rate_count  INTEGER,
  rate_per_ms INTEGER
) STRICT, WITHOUT ROWID;

-- What a limit counts: one for each queue that has or had one, and for each key that has or had work.
CREATE TABLE gleaner_gates (
  id          INTEGER PRIMARY KEY,
  scope       TEXT NOT NULL UNIQUE, -- 'queue/<name>', 'key/<queue>/<task>/<key>'
  limit_scope TEXT NOT NULL,
  held        INTEGER NOT NULL DEFAULT 0,
  starts      TEXT NOT NULL DEFAULT '' -- what the rate still counts: [[last moment, how many], …]
) STRICT;

-- One for each lane with a key. 'ready': it may have something to give; they are served by 'turn', the one that was
-- served longest ago first. 'wake_at': when to look again.
CREATE TABLE gleaner_turnstiles (
  lane    INTEGER PRIMARY KEY,
  base    INTEGER NOT NULL, -- the lane of the same queue, name and requirements without a key
  gate    INTEGER NOT NULL,
  turn    INTEGER NOT NULL,
  ready   INTEGER NOT NULL,
  wake_at INTEGER
) STRICT;
CREATE INDEX gleaner_turnstiles_ready ON gleaner_turnstiles (base, turn) WHERE ready = 1;
CREATE INDEX gleaner_turnstiles_wake ON gleaner_turnstiles (wake_at) WHERE wake_at IS NOT NULL;
CREATE INDEX gleaner_turnstiles_gate ON gleaner_turnstiles (gate);
`,
}
