import { lstatSync, readlinkSync, statSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import { StoreError } from '../../../errors.ts'

/** Symbolic links one after the other, of which a circle has no end. */
const LINKS_MAX = 8
const STICKY_FOR_ALL = 0o1002

/**
 * In a folder like `/tmp` any user can leave a link in place of a database, and so choose the file that is written. Linux refuses such
 * links (`fs.protected_symlinks`), but not to SQLite, which reads them itself.
 */
export function refuseForeignLink(path: string): void {
  const us = process.getuid?.()
  let at = resolve(path)
  for (let links = 0; us !== undefined && links < LINKS_MAX; links++) {
    const link = lstatSync(at, { throwIfNoEntry: false })
    if (link === undefined || !link.isSymbolicLink()) return
    const folder = statSync(dirname(at))
    const isShared = (folder.mode & STICKY_FOR_ALL) === STICKY_FOR_ALL
    if (isShared && ![0, us, folder.uid].includes(link.uid)) throw foreign(at, link.uid)
    at = resolve(dirname(at), readlinkSync(at))
  }
}

function foreign(path: string, owner: number): StoreError {
  return new StoreError(
    `cannot open ${path}: it is a link of the user ${owner} in a folder that every user can write`,
    {
      code: 'BAD_CONFIG',
      hint: 'Remove the link, or keep the database in a folder of your own.',
    },
  )
}
