import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import Database from 'better-sqlite3'
import { onTestFinished } from 'vitest'
import type { Store } from '../../../src/store/ports/store.ts'
import { openSqliteStore, type SqliteOptions } from '../../../src/store/sqlite/store.ts'

/** A place for a database, gone when the test is over. */
export function freshPath(): string {
  const folder = mkdtempSync(join(tmpdir(), 'gleaner-sqlite-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  return join(folder, 'app.db')
}

/** Closed when the test is over. */
export async function openStore(path: string, options: Partial<SqliteOptions> = {}): Promise<Store> {
  const store = await openSqliteStore({ path, ...options })
  onTestFinished(() => store.close())
  return store
}

/** A connection of the app's own. */
export function connect(path: string): Database.Database {
  const raw = new Database(path)
  onTestFinished(() => {
    raw.close()
  })
  return raw
}
