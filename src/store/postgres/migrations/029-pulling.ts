import type { Migration } from './migration.ts'

/** Sessions of callers that pull items by hand. */
export const pulling: Migration = {
  version: 29,
  name: 'pulling',
  sql: (schema) => `
ALTER TABLE ${schema}.sessions
  ADD COLUMN lease_ms bigint, -- null: the lease of the process that looks
  ADD COLUMN caller   text;   -- of a session that its caller renews over HTTP; null: a keeper does
`,
}
