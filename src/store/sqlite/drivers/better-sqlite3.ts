import type Database from 'better-sqlite3'
import type { SqliteLibrary } from '../../ports/database.ts'
import type { SqliteDatabase, SqliteDriver } from './driver.ts'

/** Its connections are used as they are: nothing stands between a statement and the library. */
export function betterSqlite3(Library: typeof Database, library: SqliteLibrary): SqliteDriver {
  return {
    library,
    open: (path, { readonly }) => new Library(path, { timeout: 0, readonly }) as SqliteDatabase,
    adopt: (connection) => (connection instanceof Library ? (connection as SqliteDatabase) : null),
  }
}
