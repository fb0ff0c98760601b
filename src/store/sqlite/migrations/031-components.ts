import type { Migration } from './migration.ts'

/** Components of users that a health monitor watches, as it last reported them. */
export const components: Migration = {
  version: 31,
  name: 'components',
  sql: `
ALTER TABLE gleaner_health ADD COLUMN item TEXT; -- what the component worked on
CREATE TABLE gleaner_components (
  id       TEXT PRIMARY KEY,
  status   TEXT NOT NULL,
  since    INTEGER NOT NULL,
  item     TEXT,
  seen_at  INTEGER NOT NULL,
  fresh_ms INTEGER NOT NULL -- without a report for that long, its monitor is gone
) STRICT, WITHOUT ROWID;
`,
}
