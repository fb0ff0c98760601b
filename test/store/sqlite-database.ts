import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import Database from 'better-sqlite3'
import type { SqliteLibrary } from '../../src/store/ports/database.ts'
import type { Store } from '../../src/store/ports/store.ts'
import type { SqliteDatabase } from '../../src/store/sqlite/drivers/driver.ts'
import { loadDriver } from '../../src/store/sqlite/drivers/load.ts'
import { openSqliteStore, type SqliteOptions } from '../../src/store/sqlite/store.ts'
import { ManualClock } from '../../src/testing/manual-clock.ts'
import type { TestDatabase } from '../conformance/index.ts'

export interface SqliteTestDatabase extends TestDatabase {
  readonly path: string
  readonly clock: ManualClock
  open(options?: Partial<SqliteOptions>): Promise<Store>
}

/** A SQLite file in a folder of its own. */
export async function openSqliteDatabase(defaults: Partial<SqliteOptions> = {}): Promise<SqliteTestDatabase> {
  const folder = mkdtempSync(join(tmpdir(), 'gleaner-store-'))
  const path = join(folder, 'app.db')
  const clock = new ManualClock()
  const stores: Store[] = []
  const own = connectionOfUser(path, defaults.library)
  const users = loadDriver(defaults.library).adopt(own)!
  users.pragma('journal_mode = WAL')
  // What a sync of the user's own costs is no subject of any test.
  users.pragma('synchronous = OFF')
  users.exec('CREATE TABLE notes (text TEXT NOT NULL)')
  return {
    path,
    clock,
    synchronous: true,
    elsewhere: { module: import.meta.resolve('../../src/store/by-url/open.ts'), database: `sqlite:${path}` },
    async open(options) {
      const store = await openSqliteStore({ path, clock, beside: own, ...defaults, ...options })
      stores.push(store)
      return store
    },
    notes: {
      write: (tx, text) => {
        ;(tx as SqliteDatabase).prepare('INSERT INTO notes VALUES (?)').run(text)
      },
      all: async () => users.prepare('SELECT text FROM notes ORDER BY rowid').pluck().all() as string[],
    },
    tables: {
      named: (table) => table,
      run: async (sql) => void users.exec(sql),
      rows: async (sql) => users.prepare(sql).all() as Record<string, unknown>[],
      deleteLedger: async () => void users.exec('DELETE FROM gleaner_ledger'),
      within: (tx, sql) => void (tx as SqliteDatabase).prepare(sql).run(),
    },
    async transact(work) {
      users.exec('BEGIN IMMEDIATE')
      try {
        const value = await work(own)
        users.exec('COMMIT')
        return value
      } catch (error) {
        users.exec('ROLLBACK')
        throw error
      }
    },
    async destroy() {
      for (const store of stores) await store.close()
      users.close()
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

/** As an app opens it. */
function connectionOfUser(path: string, library: SqliteLibrary = 'better-sqlite3'): object {
  if (library !== 'node:sqlite') return new Database(path)
  const { DatabaseSync } = process.getBuiltinModule('node:sqlite')
  return new DatabaseSync(path)
}
