import type { Migration } from './migration.ts'

/** How components were, for people to read. */
export const healthMigration: Migration = {
  version: 9,
  name: 'health',
  sql: `
CREATE TABLE gleaner_health (
  id           INTEGER PRIMARY KEY,
  at           INTEGER NOT NULL,
  component    TEXT NOT NULL,
  status       TEXT NOT NULL,
  changed_from TEXT -- null: nothing had changed
) STRICT;
CREATE INDEX gleaner_health_component ON gleaner_health (component, id);
CREATE INDEX gleaner_health_changes ON gleaner_health (id) WHERE changed_from IS NOT NULL;
`,
}
