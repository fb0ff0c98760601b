import type { Migration } from './migration.ts'

/** What happened in each minute, as long as it is kept; and keys that rest. */
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
  incidents text NOT NULL DEFAULT '[]', -- [[kind, count], …]
  PRIMARY KEY (minute, queue, name)
) WITH (fillfactor = 70);

-- Keys of which no other task is wanted for a time, whatever became of this one.
CREATE TABLE ${schema}.throttles (
  key   text PRIMARY KEY,
  task  bigint NOT NULL,
  until bigint NOT NULL
);
CREATE INDEX throttles_until ON ${schema}.throttles (until);
`,
}
