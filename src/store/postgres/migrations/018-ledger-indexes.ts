import type { Migration } from './migration.ts'

/**
 * Each index of the ledger fits its own questions only (see `ledger-sql.ts`). As long as the planner believed that the ledger was empty it
 * took any of them for any question, and read all entries of a discovery for each row.
 */
export const ledgerIndexes: Migration = {
  version: 18,
  name: 'ledger indexes',
  sql: (schema) => `
DROP INDEX ${schema}.ledger_blocked;
DROP INDEX ${schema}.ledger_suspect;
CREATE INDEX ledger_kept ON ${schema}.ledger ((discovery || ' kept'), blocked_until) WHERE NOT quarantined;
CREATE INDEX ledger_suspect ON ${schema}.ledger ((discovery || ' suspect'), row_key) WHERE suspect;
`,
}
