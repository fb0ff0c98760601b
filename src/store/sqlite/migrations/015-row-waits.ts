import type { Migration } from '../file/migrate.ts'

/** Nobody enqueues a row, so that none says since when it waits: who looks for alerts writes down when it first saw one. */
export const rowWaits: Migration = {
  version: 15,
  name: 'row waits',
  sql: `
CREATE TABLE gleaner_row_waits (
  discovery TEXT PRIMARY KEY,
  since     INTEGER NOT NULL -- every look from then on has found rows that wait
) STRICT, WITHOUT ROWID;
`,
}
