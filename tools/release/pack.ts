import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { root } from '../docs/pages.ts'
import { packedPages } from './packed-pages.ts'

// node tools/release/pack.ts --before: `npm pack` runs it first; --after: the pages of the checkout are as they were.
const KEPT = join(root, 'node_modules/.cache/gleaner-pack')

if (process.argv.includes('--before')) {
  mkdirSync(KEPT, { recursive: true })
  for (const [page, text] of Object.entries(packedPages(process.env.GLEANER_REPOSITORY || undefined))) {
    const file = join(root, page)
    if (existsSync(file)) writeFileSync(join(KEPT, page), readFileSync(file))
    writeFileSync(file, text)
  }
} else if (process.argv.includes('--after')) {
  for (const page of Object.keys(packedPages(undefined))) {
    const [file, kept] = [join(root, page), join(KEPT, page)]
    if (existsSync(kept)) writeFileSync(file, readFileSync(kept))
    else rmSync(file, { force: true })
  }
  rmSync(KEPT, { recursive: true, force: true })
} else {
  console.error('Use --before or --after.')
  process.exitCode = 2
}
