import type { Migration } from '../server/migrate.ts'

/** Until then some process waits for tasks to end: see `server/awaited.ts`. */
export const awaited: Migration = {
  version: 26,
  name: 'awaited',
  sql: (schema) => `
INSERT INTO ${schema}.settings VALUES ('awaited', 0);
`,
}
