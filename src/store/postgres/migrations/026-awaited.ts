import type { Migration } from './migration.ts'

/** Until then some process waits for tasks to end: see `server/awaited.ts`. */
export const awaited: Migration = {
  version: 26,
  name: 'awaited',
  sql: (schema) => `
INSERT INTO ${schema}.settings VALUES ('awaited', 0);
`,
}
