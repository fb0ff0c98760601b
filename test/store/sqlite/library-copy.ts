import { cpSync, mkdtempSync, rmSync } from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { dirname, join, resolve } from 'node:path'
import { onTestFinished } from 'vitest'

/** Another copy of better-sqlite3, with a native module of its own: a second SQLite library. The path of its module. */
export function copyOfLibrary(): string {
  const folder = mkdtempSync(join(tmpdir(), 'gleaner-library-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  const from = resolve(dirname(createRequire(import.meta.url).resolve('better-sqlite3')), '..')
  const to = join(folder, 'node_modules', 'better-sqlite3')
  for (const part of ['lib', 'package.json', 'prebuilds'])
    cpSync(join(from, part), join(to, part), { recursive: true, filter: isOfThisSystem })
  return join(to, 'lib', 'index.js')
}

function isOfThisSystem(path: string): boolean {
  return !/prebuilds.*\.node$/.test(path) || path.includes(process.platform)
}
