import { openGleaner } from '../../../src/index.ts'
import { argument, say } from '../../journeys/program.ts'

/** Tries to make a backup, and says how that went. */
const { database, path } = argument<{ database: string; path: string }>()
const gleaner = await openGleaner({ database })
await gleaner.maintenance.backup(path).then(
  () => say('made'),
  ({ code, message }) => say('failed', { code, message }),
)
await gleaner.close()
