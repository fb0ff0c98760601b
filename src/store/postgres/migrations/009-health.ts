import type { Migration } from './migration.ts'

/** How components were, for people to read. */
export const healthMigration: Migration = {
  version: 9,
  name: 'health',
  sql: (schema) => `
CREATE TABLE ${schema}.health (
  id           bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  at           bigint NOT NULL,
  component    text NOT NULL,
  status       text NOT NULL,
  changed_from text -- null: nothing had changed
);
CREATE INDEX health_component ON ${schema}.health (component, id);
CREATE INDEX health_changes ON ${schema}.health (id) WHERE changed_from IS NOT NULL;
`,
}
