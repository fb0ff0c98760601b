import type { Migration } from './migration.ts'

/**
 * How far the races of weighted queues have come, as each session saw it: the highest counts. In one row for all, every
 * claim would wait for every other. What an ended session saw is kept under session 0.
 */
export const races: Migration = {
  version: 4,
  name: 'races',
  sql: (schema) => `
CREATE TABLE ${schema}.races (
  queue   text NOT NULL,
  era     integer NOT NULL,
  session bigint NOT NULL,
  moment  bigint NOT NULL,
  PRIMARY KEY (queue, era, session)
) WITH (fillfactor = 50);
`,
}
