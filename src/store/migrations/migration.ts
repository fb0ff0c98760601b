/**
 * A step that is written once for both databases. The text is PostgreSQL's, as in scripts: tables are `gleaner.<name>`, and indexes
 * have no prefix.
 */
export interface SharedMigration {
  version: number
  name: string
  sql: string
}
