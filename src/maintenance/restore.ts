import { restoreDatabase } from '../store/restore.ts'
import { checkPath, known, type ProgressOption } from './manage.ts'

/**
 * Puts a backup in place of a database that nobody has open: `restoreBackup('./app.backup', { database: 'sqlite:./app.db' })`.
 * The database need not exist. Killed at any moment, it leaves the old one or the new one.
 */
export async function restoreBackup(
  path: string,
  options: { database: string } & ProgressOption,
): Promise<void> {
  const { database, onProgress } = known('restoreBackup', options, ['database', 'onProgress'])
  await restoreDatabase(database, checkPath('restoreBackup', path), onProgress)
}
