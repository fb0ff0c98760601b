import { openGleaner, restoreBackup } from '../../../src/index.ts'
import { argument, say } from '../../journeys/program.ts'

/** Makes a backup, or restores one. The thread that does it is the one whose steps count. */
const { database, path, chore } = argument<{ database: string; path: string; chore: 'backup' | 'restore' }>()
if (chore === 'restore') await restoreBackup(path, { database })
else {
  const gleaner = await openGleaner({ database })
  await gleaner.maintenance.backup(path, { overwrite: true })
  await gleaner.close()
}
say('survived')
