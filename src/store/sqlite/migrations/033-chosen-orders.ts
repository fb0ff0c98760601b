import type { Migration } from './migration.ts'

/** Queues that a worker serves in another order than the stored one: for people to see, no claim reads it. */
export const chosenOrdersMigration: Migration = {
  version: 33,
  name: 'chosen-orders',
  sql: `
ALTER TABLE gleaner_sessions ADD COLUMN strategies TEXT; -- JSON: by queue
`,
}
