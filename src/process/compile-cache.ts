import { lstatSync, mkdirSync } from 'node:fs'
import { enableCompileCache } from 'node:module'
import { userInfo } from 'node:os'
import { join } from 'node:path'

/**
 * A restarted worker should not compile everything again. What lies in the cache is executed, so it lies where only our user can
 * write: Node's default is a folder in the shared temporary directory, which any other user can make first.
 */
export function enableOwnCompileCache(): void {
  // Node has enabled the folder that the variable names. The variable is the user's own choice.
  if (process.env.NODE_COMPILE_CACHE) return
  const folder = ownCacheFolder(homeOfUser())
  if (folder !== null) enableCompileCache(folder)
}

/** Null: there is no folder that only our user can write. Workers start without a cache then. */
export function ownCacheFolder(home: string | null): string | null {
  const us = process.getuid?.()
  if (home === null || us === undefined) return null
  const path = [home, join(home, '.cache'), join(home, '.cache', 'gleaner')]
  try {
    for (const folder of path) {
      if (folder !== home) mkdirSync(folder, { recursive: true, mode: 0o700 })
      const { uid, mode } = lstatSync(folder)
      // A folder above that another user can write would let that user replace ours. A symbolic link is not a folder.
      const isFolder = (mode & 0o170000) === 0o040000
      if (!isFolder || uid !== us || (mode & 0o022) !== 0) return null
    }
    return path.at(-1)!
  } catch {
    return null
  }
}

/** From the system's list of users: `HOME` may be that of another user, e.g. under sudo. */
function homeOfUser(): string | null {
  try {
    return userInfo().homedir
  } catch {
    return null
  }
}
