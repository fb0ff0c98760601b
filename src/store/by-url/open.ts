import type { Clock } from '../../clock.ts'
import { InputError } from '../../errors.ts'
import type { PostgresOptions, SqliteLibrary } from '../ports/database.ts'
import type { Store } from '../ports/store.ts'
import type { SqliteTuning } from '../sqlite/drivers/driver.ts'
import type { Durability } from '../sqlite/file/connection.ts'
import { openSqliteStore } from '../sqlite/store.ts'

export interface StoreOptions {
  durability?: Durability
  clock?: Clock
  /** Which library opens a SQLite file, and how. */
  sqlite?: SqliteTuning & { library?: SqliteLibrary | undefined; beside?: object | undefined }
  postgres?: Omit<PostgresOptions, 'url'>
}

/** The store behind a database URL. Who uses SQLite never loads the driver of PostgreSQL. */
export async function openStore(database: string, options: StoreOptions = {}): Promise<Store> {
  const { postgres, sqlite, ...common } = options
  const path = sqlitePath(database)
  if (path !== undefined) return openSqliteStore({ path, ...sqlite, ...common })
  const { openPostgresStore } = await import('../postgres/store.ts')
  return openPostgresStore({ url: database, ...postgres, ...common })
}

/** The file of a SQLite database; undefined for one of PostgreSQL. */
export function sqlitePath(database: unknown): string | undefined {
  const url = typeof database === 'string' ? database : ''
  if (/^postgres(ql)?:/.test(url)) return undefined
  const path = /^sqlite:(?<path>.+)$/s.exec(url)?.groups?.path
  if (path !== undefined) return path
  // Not repeated: it may hold a password.
  throw new InputError('database: this is not a database URL', {
    code: 'BAD_CONFIG',
    hint: "Use 'sqlite:./app.db', 'postgres://user:password@host/database', or 'sqlite::memory:' for a test.",
  })
}
