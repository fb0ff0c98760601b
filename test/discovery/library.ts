import { defineDiscovery } from '../../src/index.ts'
import type { SqliteConnection, TestGleaner, TestGleanerOptions } from '../../src/testing/index.ts'
import { test as plain } from '../testing/open-test.ts'

/** A table of a user's, and a discovery on it. */
export const FILES = `
CREATE TABLE files (
  id INTEGER PRIMARY KEY,
  path TEXT NOT NULL,
  needs_tagging INTEGER NOT NULL DEFAULT 1,
  tagged_version INTEGER NOT NULL DEFAULT 0,
  tags TEXT
);
CREATE INDEX files_to_tag ON files (id) WHERE needs_tagging = 1;
CREATE TABLE effects (id INTEGER PRIMARY KEY);`

export const FILE_SOURCE = { table: 'files', key: 'id', where: 'needs_tagging = 1' } as const

type Options = Parameters<typeof defineDiscovery<unknown>>[0]

export function tagFiles(options: Partial<Options> = {}) {
  return defineDiscovery({
    name: 'tag-files',
    ...FILE_SOURCE,
    run: async (row) => `tags of ${row.path}`,
    done: (tags) => ({ tags: String(tags), needs_tagging: 0 }),
    ...options,
  } as Options)
}

export function addFiles(db: SqliteConnection, count: number, from = 1): void {
  const insert = db.prepare('INSERT INTO files (id, path) VALUES (?, ?)')
  db.transaction(() => {
    for (let id = from; id < from + count; id++) insert.run(id, `${id}.flac`)
  })()
}

/** All columns that a test looks at, in the order of ids. */
export function files(t: TestGleaner): { id: number; needs_tagging: number; tags: string | null }[] {
  return t.db.prepare('SELECT id, needs_tagging, tags FROM files ORDER BY id').all()
}

/** How many are left to be done. */
export function left(t: TestGleaner): number {
  return t.db.prepare('SELECT count(*) AS n FROM files WHERE needs_tagging = 1').get().n
}

/** `shelf` opens a test engine with these files in it, closed when the test is over. */
export const test = plain.extend<{
  shelf: (count: number, options?: TestGleanerOptions) => Promise<TestGleaner>
}>({
  shelf: async ({ open }, use) => {
    await use(async (count, options = {}) => {
      const setup = (db: SqliteConnection) => {
        db.exec(FILES)
        addFiles(db, count)
        options.setup?.(db)
      }
      return open({ discoveries: [tagFiles()], ...options, setup })
    })
  },
})
