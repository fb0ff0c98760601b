import type { Migration } from './migration.ts'

/** What processes have measured and nobody has added to `minutes` yet: processes that add to the same row would wait for each other. */
export const minuteNews: Migration = {
  version: 24,
  name: 'measured minutes',
  sql: (schema) => `
CREATE TABLE ${schema}.minute_news (
  minute    bigint NOT NULL,
  queue     text NOT NULL,
  name      text NOT NULL,
  enqueued  bigint NOT NULL,
  completed bigint NOT NULL,
  failed    bigint NOT NULL,
  retried   bigint NOT NULL,
  durations text NOT NULL,
  incidents text NOT NULL
);
`,
}
