import type { Migration } from '../migrate.ts'

/** What happened in each minute, as long as it is kept. */
export const management: Migration = {
  version: 6,
  name: 'management',
  sql: `
CREATE TABLE gleaner_minutes (
  minute    INTEGER NOT NULL,
  queue     TEXT NOT NULL,
  name      TEXT NOT NULL,
  enqueued  INTEGER NOT NULL,
  completed INTEGER NOT NULL,
  failed    INTEGER NOT NULL,
  retried   INTEGER NOT NULL,
  durations TEXT NOT NULL, -- a histogram: [[bucket, count], …]
  PRIMARY KEY (minute, queue, name)
) STRICT, WITHOUT ROWID;
`,
}
