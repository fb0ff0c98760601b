import { lstatSync, type Stats, statSync } from 'node:fs'
import { dirname } from 'node:path'

/** Why other users than these can have put the file there, or can replace it; null: they cannot. */
export function whyForeign(path: string, trusted: readonly number[]): string | null {
  return whyOf(lstatSync(path), statSync(dirname(path)), trusted)
}

function whyOf(file: Stats, folder: Stats, trusted: readonly number[]): string | null {
  if (!trusted.includes(file.uid)) return `it belongs to the user ${file.uid}`
  // Every link has a mode that lets everybody write, which means nothing.
  if (!file.isSymbolicLink() && (file.mode & 0o002) !== 0) return 'every user can write it'
  if (!trusted.includes(folder.uid)) return `its folder belongs to the user ${folder.uid}`
  const isSticky = (folder.mode & 0o1000) !== 0
  return (folder.mode & 0o002) !== 0 && !isSticky ? 'every user can write its folder' : null
}
