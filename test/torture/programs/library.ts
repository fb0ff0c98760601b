import type { SqliteSettings } from '../../../src/index.ts'

const LIBRARIES = ['better-sqlite3', 'node:sqlite'] as const

/** Of `npm run torture -- --sqlite node:sqlite`: the library that the programs open the file with, which are killed. */
export const sqlite: SqliteSettings = {
  driver: LIBRARIES.find((one) => one === process.env.TORTURE_SQLITE) ?? LIBRARIES[0],
}
