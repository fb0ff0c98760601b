import type { Migration } from './migration.ts'

/** The same as on SQLite. */
export const chosenOrdersMigration: Migration = {
  version: 33,
  name: 'chosen-orders',
  sql: (schema) => `
ALTER TABLE ${schema}.sessions ADD COLUMN strategies text; -- JSON: by queue
`,
}
