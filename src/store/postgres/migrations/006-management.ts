import type { Migration } from '../migrate.ts'

/** What happened in each minute, as long as it is kept. */
export const management: Migration = {
  version: 6,
  name: 'management',
  sql: (schema) => `
CREATE TABLE ${schema}.minutes (
  minute    bigint NOT NULL,
  queue     text NOT NULL,
  name      text NOT NULL,
  enqueued  bigint NOT NULL DEFAULT 0,
  completed bigint NOT NULL DEFAULT 0,
  failed    bigint NOT NULL DEFAULT 0,
  retried   bigint NOT NULL DEFAULT 0,
  durations text NOT NULL DEFAULT '[]', -- a histogram: [[bucket, count], …]
  PRIMARY KEY (minute, queue, name)
) WITH (fillfactor = 70);
`,
}
