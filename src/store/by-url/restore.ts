import type { SqliteLibrary } from '../ports/database.ts'
import type { UpkeepProgress } from '../ports/maintenance.ts'
import { runJob } from '../sqlite/maintenance/jobs.ts'
import { notInMemory } from '../sqlite/maintenance/maintenance.ts'
import { sqlitePath } from './open.ts'

/** Of a database that is not open here. */
export async function restoreDatabase(
  database: string,
  path: string,
  options: { library?: SqliteLibrary | undefined; onProgress?: (progress: UpkeepProgress) => void } = {},
): Promise<void> {
  const file = sqlitePath(database)
  if (file === undefined) {
    const { notOurs } = await import('../postgres/maintenance/maintenance.ts')
    throw notOurs()
  }
  if (file === ':memory:') throw notInMemory('restore')
  await runJob({ kind: 'restore', database: file, path }, options.onProgress, options.library)
}
