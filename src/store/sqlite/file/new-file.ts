import { closeSync, existsSync, fchmodSync, openSync, readlinkSync, statSync } from 'node:fs'
import { dirname, resolve } from 'node:path'

/** A database holds the payloads of all tasks: only its owner can read it, unless the owner says otherwise. */
const PRIVATE = 0o600
/** Symbolic links one after the other, of which a circle has no end. */
const LINKS_MAX = 8

/**
 * Creates an empty file for a new database, with the mode of the database that it is a copy of. SQLite would create one that all
 * users can read. It gives the files beside a database the database's own mode. Nothing happens if the file exists.
 */
export function createFileFor(
  path: string,
  { copyOf, links = LINKS_MAX }: { copyOf?: string; links?: number } = {},
): void {
  if (path === ':memory:' || path === '') return
  const mode = copyOf === undefined ? PRIVATE : statSync(copyOf).mode & 0o777
  let descriptor: number
  try {
    descriptor = openSync(path, 'wx', mode)
  } catch {
    const target = links === 0 || existsSync(path) ? null : targetOf(path)
    // It exists, or it cannot be created, which SQLite reports. SQLite creates the file that a link leads to.
    return target === null ? undefined : createFileFor(target, { copyOf, links: links - 1 })
  }
  // Without this the umask would narrow the mode of a copy.
  if (copyOf !== undefined) fchmodSync(descriptor, mode)
  closeSync(descriptor)
}

/** Null: it is no symbolic link. */
function targetOf(path: string): string | null {
  try {
    return resolve(dirname(path), readlinkSync(path))
  } catch {
    return null
  }
}
