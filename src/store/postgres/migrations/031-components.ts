import type { Migration } from './migration.ts'

/** Components of users that a health monitor watches, as it last reported them. */
export const components: Migration = {
  version: 31,
  name: 'components',
  sql: (schema) => `
ALTER TABLE ${schema}.health ADD COLUMN item text; -- what the component worked on
CREATE TABLE ${schema}.components (
  id       text PRIMARY KEY,
  status   text NOT NULL,
  since    bigint NOT NULL,
  item     text,
  seen_at  bigint NOT NULL,
  fresh_ms bigint NOT NULL -- without a report for that long, its monitor is gone
);
`,
}
