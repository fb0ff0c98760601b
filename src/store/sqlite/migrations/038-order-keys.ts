import type { Migration } from './migration.ts'

/**
 * Tasks of one order key run one at a time, in the order of their ids. One of them leads: it may run, back off, be scheduled or
 * suspended. The others wait behind it, outside of the indexes that claims walk ('suspect' is 2 or 3 then).
 */
export const orderKeys: Migration = {
  version: 38,
  name: 'order-keys',
  sql: `
ALTER TABLE gleaner_tasks ADD COLUMN order_key TEXT; -- '<task name>/<key>'
ALTER TABLE gleaner_tasks ADD COLUMN leads INTEGER; -- 1: it may run, 0: it waits behind another; null: finished, or without such a key
CREATE UNIQUE INDEX gleaner_tasks_leading ON gleaner_tasks (order_key) WHERE leads = 1;
CREATE INDEX gleaner_tasks_behind ON gleaner_tasks (order_key, id) WHERE leads = 0;
CREATE INDEX gleaner_tasks_behind_listed ON gleaner_tasks (lane, rank) WHERE leads = 0;
`,
}
