import { onTestFinished } from 'vitest'
import { type Gleaner, type GleanerOptions, openGleaner } from '../../../src/index.ts'
import type { TestDatabase } from '../../conformance/index.ts'
import { openPostgresDatabase } from '../../store/postgres-database.ts'
import { openSqliteDatabase } from '../../store/sqlite-database.ts'

const FILES = 'CREATE TABLE files (id INTEGER PRIMARY KEY, tags TEXT, needs INTEGER NOT NULL)'

/** A database with a table of the user's, and processes that work on it on real time. */
export interface Scene {
  /** For `openGleaner`. */
  database: string
  tables: TestDatabase['tables']
  open(options: Omit<GleanerOptions, 'database'>): Promise<Gleaner>
}

export const DATABASES: readonly [name: string, open: () => Promise<TestDatabase>][] = [
  ['SQLite', openSqliteDatabase],
  ['PostgreSQL', openPostgresDatabase],
]

export async function sceneOn(openDatabase: () => Promise<TestDatabase>): Promise<Scene> {
  const { tables, elsewhere, destroy } = await openDatabase()
  const { database } = elsewhere
  await tables.run(FILES)
  const opened: Gleaner[] = []
  onTestFinished(async () => {
    await Promise.all(opened.map((gleaner) => gleaner.close()))
    await destroy()
  })
  return {
    database,
    tables,
    async open(options) {
      const gleaner = await openGleaner({ database, ...options })
      opened.push(gleaner)
      return gleaner
    },
  }
}

/** As a sweeper of another process does. */
export async function endSessions(database: string): Promise<void> {
  const { openStore } = await import('../../../src/store/by-url/open.ts')
  const store = await openStore(database)
  for (const { id } of await store.sessions.liveSessions()) await store.sessions.endSession(id, 'stop')
  await store.close()
}
