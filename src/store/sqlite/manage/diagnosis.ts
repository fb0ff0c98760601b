import { accessSync, constants, existsSync } from 'node:fs'
import { dirname } from 'node:path'
import type { SqliteLibrary } from '../../ports/database.ts'
import type { Diagnosis } from '../../ports/diagnosis.ts'
import { loadDriver, libraryVersionOf as sqliteVersion } from '../drivers/load.ts'
import { refuseSecondLibrary } from '../drivers/second-library.ts'
import { Connection } from '../file/connection.ts'
import { migrations } from '../migrations/index.ts'
import { versionOf } from '../migrations/migrate.ts'

type Trouble = Diagnosis['troubles'][number]

export async function diagnoseSqlite(path: string, library?: SqliteLibrary): Promise<Diagnosis> {
  const driver = loadDriver(library)
  const known = {
    server: `SQLite ${sqliteVersion(driver)}`,
    latest: migrations.at(-1)!.version,
    notes: [],
  }
  if (path === ':memory:') {
    const fix = "Use a file, e.g. 'sqlite:./app.db'."
    const trouble = { message: 'a database in memory cannot be shared by processes', fix }
    return { ...known, version: null, troubles: [trouble] }
  }
  const writable = writing(existsSync(path) ? [path, dirname(path)] : [dirname(path)])
  if (!existsSync(path)) return { ...known, version: null, troubles: writable }
  refuseSecondLibrary(path, driver)
  const connection = new Connection(path, { readonly: true, library })
  try {
    const { version, mode } = await connection.read(() => ({
      version: versionOf(connection),
      mode: connection.raw.pragma('journal_mode', { simple: true }),
    }))
    return { ...known, version, troubles: [...writable, ...(version > 0 ? logging(mode) : [])] }
  } finally {
    connection.close()
  }
}

/** Beside the file there is its log, so that the folder must be writable as well. */
function writing(paths: readonly string[]): Trouble[] {
  const closed = paths.filter((path) => !mayWrite(path))
  return closed.map((path) => ({
    message: `${path} ${existsSync(path) ? 'may not be written' : 'does not exist'}`,
    fix: existsSync(path) ? 'Give the user who runs this the right to write to it.' : 'Create the folder.',
  }))
}

function mayWrite(path: string): boolean {
  try {
    accessSync(path, constants.R_OK | constants.W_OK)
    return true
  } catch {
    return false
  }
}

function logging(mode: unknown): Trouble[] {
  if (mode === 'wal') return []
  return [
    {
      message: `its journal mode is ${mode}, not WAL`,
      fix: 'Another program changed it; the next start sets it back. Network file systems have none: use a local disk.',
    },
  ]
}
