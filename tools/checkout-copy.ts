import { cpSync, mkdirSync, readdirSync, symlinkSync } from 'node:fs'
import { basename, join, relative } from 'node:path'

/** What a copy does without: what is built or measured, and what is only here for the moment. */
const LEFT_OUT = new Set(['.git', 'node_modules', 'dist', 'coverage', '.cache', '.quickstart', 'bench'])
const DATABASE = /\.db(-wal|-shm|-journal)?$/

/** Copies a checkout into an empty folder, where it can be built, patched and thrown away. */
export function copyCheckout(from: string, to: string): void {
  cpSync(from, to, {
    recursive: true,
    filter: (path) =>
      relative(from, path) === '' || !(LEFT_OUT.has(basename(path)) || DATABASE.test(basename(path))),
  })
  // Linked one by one: what tools write beside the packages (vitest's caches) stays in the copy.
  mkdirSync(join(to, 'node_modules'))
  for (const name of readdirSync(join(from, 'node_modules'))) {
    if (!name.startsWith('.') || name === '.bin')
      symlinkSync(join(from, 'node_modules', name), join(to, 'node_modules', name))
  }
}
