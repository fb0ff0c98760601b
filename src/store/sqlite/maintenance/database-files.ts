import { closeSync, existsSync, fsyncSync, openSync, statSync } from 'node:fs'

/** What SQLite puts beside a database. Left there by somebody, it would be taken for a part of the new file. */
export const COMPANIONS = ['-journal', '-wal', '-shm']

export function isSameFile(one: string, other: string): boolean {
  if (!existsSync(one) || !existsSync(other)) return false
  const [a, b] = [statSync(one), statSync(other)]
  return a.ino === b.ino && a.dev === b.dev
}

/** Only where no connection of this process is open: closing any file of a database takes their locks away. */
export function syncFile(path: string): void {
  const file = openSync(path, 'r')
  try {
    fsyncSync(file)
  } finally {
    closeSync(file)
  }
}
