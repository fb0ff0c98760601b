import type { SqliteSettings } from '../../../src/index.ts'
import { setStandardLibrary } from '../../../src/store/sqlite/drivers/load.ts'

const LIBRARIES = ['better-sqlite3', 'node:sqlite'] as const
export type Library = (typeof LIBRARIES)[number]

/** Of `npm run torture -- --sqlite node:sqlite`, and of tests: the library that the programs open the file with, which are killed. */
const driver: Library = LIBRARIES.find((one) => one === process.env.TORTURE_SQLITE) ?? LIBRARIES[0]
export const sqlite: SqliteSettings = { driver }

/** For programs that open a store without the engine around it. */
setStandardLibrary(driver)

/** The environment of a program that is to use this library. */
export function using(library: Library): NodeJS.ProcessEnv {
  return { TORTURE_SQLITE: library }
}
