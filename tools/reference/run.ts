import { mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { PAGES } from './pages.ts'

/** `npm run reference`: writes the pages anew. */
for (const [path, page] of Object.entries(PAGES)) {
  const file = join(import.meta.dirname, '../..', path)
  mkdirSync(dirname(file), { recursive: true })
  writeFileSync(file, page())
  console.log(`wrote ${path}`)
}
