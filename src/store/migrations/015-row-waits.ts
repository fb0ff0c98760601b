import type { SharedMigration } from './migration.ts'

/** No row says since when it waits, because none is enqueued. The process that looks for alerts notes when it first saw one. */
export const rowWaits: SharedMigration = {
  version: 15,
  name: 'row waits',
  sql: `
CREATE TABLE gleaner.row_waits (
  discovery text PRIMARY KEY,
  since     bigint NOT NULL -- every look from then on has found rows that wait
);
`,
}
