import { declareOptions, type Parts } from '../options.ts'
import { restoreDatabase } from '../store/by-url/restore.ts'
import type { SqliteSettings } from '../store/sqlite/drivers/driver.ts'
import { checkSqlite } from '../store/sqlite/drivers/load.ts'
import { checkPath, known, type ProgressOption } from './manage.ts'

const OPTIONS = declareOptions<Parts<'database' | 'sqlite' | 'onProgress'>>('restoreBackup', {
  database: true,
  sqlite: true,
  onProgress: true,
})

/**
 * Replaces a database with a backup: `restoreBackup('./app.backup', { database: 'sqlite:./app.db' })`. No process may have the database
 * open. The database need not exist. If the process dies at any moment, either the old or the new database is in place.
 */
export async function restoreBackup(
  path: string,
  options: { database: string; sqlite?: SqliteSettings } & ProgressOption,
): Promise<void> {
  const { database, sqlite = {}, onProgress } = known(options, OPTIONS)
  const { library } = checkSqlite(sqlite)
  await restoreDatabase(database, checkPath('restoreBackup', path), { library, onProgress })
}
