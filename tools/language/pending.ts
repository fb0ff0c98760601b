import { existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

const FOLDER = join(import.meta.dirname, 'pending')

/** Files that are not rewritten yet. One list for each part of the tree, so that people change them side by side. */
export function readPending(folder = FOLDER): Set<string> {
  if (!existsSync(folder)) return new Set()
  return new Set(readdirSync(folder).flatMap((list) => pathsIn(readFileSync(join(folder, list), 'utf8'))))
}

export function prunePending(unclean: Set<string>, folder = FOLDER): void {
  if (!existsSync(folder)) return
  for (const list of readdirSync(folder)) {
    const kept = pathsIn(readFileSync(join(folder, list), 'utf8')).filter((file) => unclean.has(file))
    if (kept.length === 0) rmSync(join(folder, list))
    else writeFileSync(join(folder, list), listOf(kept))
  }
}

/** An empty line between two files lets git merge the removal of neighbours. */
function listOf(files: string[]): string {
  return files.map((file) => `${file}\n`).join('\n')
}

function pathsIn(list: string): string[] {
  return list.split('\n').filter((line) => line !== '')
}
