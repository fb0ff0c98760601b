import type { Migration } from '../server/migrate.ts'

/** Nobody enqueues a row, so that none says since when it waits: who looks for alerts writes down when it first saw one. */
export const rowWaits: Migration = {
  version: 15,
  name: 'row waits',
  sql: (schema) => `
CREATE TABLE ${schema}.row_waits (
  discovery text PRIMARY KEY,
  since     bigint NOT NULL -- every look from then on has found rows that wait
);
`,
}
