import { statSync } from 'node:fs'
import type { AppliedMigration } from '../../ports/maintenance.ts'
import type { Statements } from '../file/statements.ts'

/** Nothing is read for it but the first page. */
export function sizes(db: Statements): { databaseBytes: number; walBytes: number | null } {
  const pages = db.scalar('SELECT page_count FROM pragma_page_count').get() as number
  const pageBytes = db.scalar('SELECT page_size FROM pragma_page_size').get() as number
  const file = db.fileName()
  const log = file === '' ? undefined : statSync(`${file}-wal`, { throwIfNoEntry: false })
  return { databaseBytes: pages * pageBytes, walBytes: log?.size ?? null }
}

export function appliedMigrations(db: Statements): AppliedMigration[] {
  return db
    .sql('SELECT version, name, applied_at AS appliedAt FROM gleaner_migrations ORDER BY version')
    .all() as AppliedMigration[]
}
