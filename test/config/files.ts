import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { onTestFinished } from 'vitest'

export const checkout = join(import.meta.dirname, '../..')
/** How a program in a folder of its own imports what is in the checkout. */
export const GLEANER = JSON.stringify(join(checkout, 'src/index.ts'))

/** A folder with these files, gone when the test (or whatever is named) is over. */
export function folderWith(
  files: Record<string, string>,
  whenOver: (remove: () => void) => void = onTestFinished,
): string {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), 'gleaner-config-')))
  // A process that was just killed may write its last file meanwhile.
  whenOver(() => rmSync(folder, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 }))
  writeFileSync(join(folder, 'package.json'), '{ "type": "module" }')
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, path)), { recursive: true })
    writeFileSync(join(folder, path), text)
  }
  return folder
}
