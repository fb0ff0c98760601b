import { createRequire } from 'node:module'
import { InputError } from '../../../errors.ts'
import type { SqliteLibrary } from '../../ports/database.ts'
import type { SqliteDatabase } from './driver.ts'
import { loadDriver } from './load.ts'
import { ownBetterSqlite3 } from './own-better-sqlite3.ts'

const { cache } = createRequire(import.meta.url)

/** Which library a user's open connection is of, and the file it has open. */
export function adoptConnection(connection: object): { library: SqliteLibrary; path: string } {
  const library = libraryOf(connection)
  const db = library === null ? null : loadDriver(library).adopt(connection)
  if (library === null || db === null) throw unknown()
  return { library, path: fileOf(db) }
}

/** Null: its module cannot be found again, so no thread could load the same one. Loads nothing. */
function libraryOf(connection: object): SqliteLibrary | null {
  if (isNodeSqlite(connection)) return 'node:sqlite'
  // A class that extends the library's has its own constructor.
  for (let one: unknown = connection; one !== null; one = Object.getPrototypeOf(one)) {
    const Library = (one as object).constructor
    const found = Object.values(cache).find((module) => module?.exports === Library)
    if (found !== undefined)
      return found.filename === ownBetterSqlite3() ? 'better-sqlite3' : { module: found.filename }
  }
  return null
}

/** Not by its class: asking for that would load the library. */
export function isNodeSqlite(connection: unknown): boolean {
  const { location, isTransaction } = Object(connection) as { location?: unknown; isTransaction?: unknown }
  return typeof location === 'function' && typeof isTransaction === 'boolean'
}

/** As better-sqlite3 and its likes have them. */
export function isLikeBetterSqlite3(connection: unknown): boolean {
  const { pragma, inTransaction } = Object(connection) as { pragma?: unknown; inTransaction?: unknown }
  return typeof pragma === 'function' && typeof inTransaction === 'boolean'
}

function fileOf(db: SqliteDatabase): string {
  const file = db.prepare("SELECT file FROM pragma_database_list WHERE name = 'main'").pluck().get() as string
  if (file !== '') return file
  throw new InputError('database: the connection has its database in memory', {
    code: 'BAD_CONFIG',
    hint: 'Gleaner opens connections of its own, which cannot reach a database in memory. Pass a connection to a file.',
  })
}

function unknown(): InputError {
  return new InputError('database: Gleaner does not know the SQLite library of this connection', {
    code: 'BAD_CONFIG',
    hint: "Pass a connection of better-sqlite3 or node:sqlite, or name the file and the library: { database: 'sqlite:…', sqlite: { driver: { module: '/path/to/library' } } }.",
  })
}
