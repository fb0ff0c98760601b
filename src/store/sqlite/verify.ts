import { existsSync } from 'node:fs'
import { StoreError } from '../../errors.ts'
import { Connection } from './connection.ts'
import { versionOf } from './migrate.ts'
import { damageOf } from './soundness.ts'
import { translated } from './sql-errors.ts'

/** Opens it, and refuses what is damaged, no database of Gleaner's, or made by a newer one. */
export async function verifyBackup(path: string): Promise<void> {
  if (!existsSync(path)) throw bad(path, 'there is no such file', 'Check the path.')
  const backup = new Connection(path, { readonly: true })
  try {
    const damage = await backup.read(() => damageOf(backup))
    if (damage.length > 0) throw bad(path, damage[0]!.what, 'It is damaged: take another one.')
    if ((await backup.read(() => versionOf(backup))) === 0)
      throw bad(
        path,
        'it has no tables of Gleaner',
        'Only a backup of a database of Gleaner can be restored.',
      )
  } catch (error) {
    throw isDamage(error)
      ? bad(path, (error as Error).message, 'It is damaged, or no database.', error)
      : error
  } finally {
    backup.close()
  }
}

function isDamage(error: unknown): boolean {
  const known = translated(error)
  return known instanceof StoreError && known.code === 'STORE_CORRUPT'
}

function bad(path: string, why: string, hint: string, cause?: unknown): StoreError {
  return new StoreError(`${path} is no backup that can be used: ${why}`, { code: 'BACKUP_BAD', hint, cause })
}
