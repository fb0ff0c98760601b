import { restoreDatabase } from '../store/restore.ts'
import type { SqliteSettings } from '../store/sqlite/drivers/driver.ts'
import { checkSqlite } from '../store/sqlite/drivers/load.ts'
import { checkPath, known, type ProgressOption } from './manage.ts'

/**
 * Puts a backup in place of a database that nobody has open: `restoreBackup('./app.backup', { database: 'sqlite:./app.db' })`.
 * The database need not exist. Killed at any moment, it leaves the old one or the new one.
 */
export async function restoreBackup(
  path: string,
  options: { database: string; sqlite?: SqliteSettings } & ProgressOption,
): Promise<void> {
  const names = ['database', 'sqlite', 'onProgress']
  const { database, sqlite = {}, onProgress } = known('restoreBackup', options, names)
  const { library } = checkSqlite(sqlite)
  await restoreDatabase(database, checkPath('restoreBackup', path), { library, onProgress })
}
