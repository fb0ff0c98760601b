import type { Diagnosis } from '../ports/diagnosis.ts'
import { diagnoseSqlite } from '../sqlite/manage/diagnosis.ts'
import { type StoreOptions, sqlitePath } from './open.ts'

/** Throws what opening it would throw, when it cannot be reached. */
export async function diagnose(database: string, options: StoreOptions = {}): Promise<Diagnosis> {
  const path = sqlitePath(database)
  if (path !== undefined) return diagnoseSqlite(path, options.sqlite?.library)
  const { diagnosePostgres } = await import('../postgres/manage/diagnosis.ts')
  return diagnosePostgres({ url: database, ...options.postgres })
}
