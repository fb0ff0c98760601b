import { existsSync } from 'node:fs'
import { StoreError } from '../../../errors.ts'
import { Connection } from '../file/connection.ts'
import { versionOf } from '../migrations/migrate.ts'
import { damageOf } from './soundness.ts'

/** Opens it, and refuses what is damaged, no database of Gleaner's, or made by a newer one. */
export async function verifyBackup(path: string): Promise<void> {
  if (!existsSync(path)) throw bad(path, 'there is no such file', 'Check the path.')
  const backup = new Connection(path, { readonly: true })
  try {
    const damage = await backup.read(() => damageOf(backup))
    if (damage.length > 0)
      throw bad(path, damage[0]!.what, 'It is damaged, or no database: take another one.')
    if ((await backup.read(() => versionOf(backup))) === 0)
      throw bad(
        path,
        'it has no tables of Gleaner',
        'Only a backup of a database of Gleaner can be restored.',
      )
  } finally {
    backup.close()
  }
}

function bad(path: string, why: string, hint: string): StoreError {
  return new StoreError(`${path} is not a usable backup: ${why}`, { code: 'BACKUP_BAD', hint })
}
