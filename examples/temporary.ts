import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** A file in a fresh folder that is removed when the example ends. Your own program writes './app.db'. */
export function temporaryFile(name: string): string {
  const folder = mkdtempSync(join(tmpdir(), 'gleaner-example-'))
  process.on('exit', () => rmSync(folder, { recursive: true, force: true }))
  return join(folder, name)
}
