import type { Migration } from './migration.ts'

/**
 * The columns mean the same as on SQLite. What differs, and why: only claims make a task lead. Transactions that enqueue, finish, retry or
 * remove a task add its key to an outbox, so that none of them waits for another one, also inside a user's own transaction.
 */
export const orderKeys: Migration = {
  version: 38,
  name: 'order-keys',
  sql: (schema) => `
ALTER TABLE ${schema}.tasks ADD COLUMN order_key text;
ALTER TABLE ${schema}.tasks ADD COLUMN leads boolean;
CREATE UNIQUE INDEX tasks_leading ON ${schema}.tasks (order_key) WHERE leads;
CREATE INDEX tasks_behind ON ${schema}.tasks (order_key, id) WHERE NOT leads;
CREATE INDEX tasks_behind_listed ON ${schema}.tasks (lane, rank, id) WHERE NOT leads;

-- Keys whose first task may have to lead. A claim takes them away.
CREATE TABLE ${schema}.order_outbox (
  key text NOT NULL
) WITH (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000);
`,
}
