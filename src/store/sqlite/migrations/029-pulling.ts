import type { Migration } from './migration.ts'

/** Sessions of callers that pull items by hand. */
export const pulling: Migration = {
  version: 29,
  name: 'pulling',
  sql: `
ALTER TABLE gleaner_sessions ADD COLUMN lease_ms INTEGER; -- null: the lease of the process that looks
ALTER TABLE gleaner_sessions ADD COLUMN caller   TEXT;    -- of a session that its caller renews over HTTP; null: a keeper does
`,
}
