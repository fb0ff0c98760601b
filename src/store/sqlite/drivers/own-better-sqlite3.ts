import { existsSync, lstatSync, realpathSync, statSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { whyForeign } from '../../../file-owner.ts'

const NAME = 'better-sqlite3'
const require = createRequire(import.meta.url)

/** The better-sqlite3 that is installed beside Gleaner; null: there is none. */
export function ownBetterSqlite3(): string | null {
  const folder = trustedPackage(require.resolve.paths(NAME) ?? [])
  return folder === null ? null : require.resolve(folder)
}

/**
 * The package in the nearest of these folders that has it. Node looks in all folders above, and in `/tmp/node_modules` any user can
 * leave one, which would be executed: so it must be of a user whose code runs here already. Null: there is none.
 */
export function trustedPackage(folders: readonly string[]): string | null {
  const folder = folders.find((one) => existsSync(join(one, NAME)))
  if (folder === undefined) return null
  const path = join(folder, NAME)
  return process.getuid === undefined || isOurs(folder, path) ? path : null
}

function isOurs(folder: string, path: string): boolean {
  const trusted = [0, process.getuid!(), statSync(fileURLToPath(import.meta.url)).uid]
  if (!trusted.includes(lstatSync(folder).uid)) return false
  return [path, realpathSync(path)].every((one) => whyForeign(one, trusted) === null)
}
