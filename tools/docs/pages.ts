import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

export const root = join(import.meta.dirname, '../..')

/** The notes of the maintainers are no page of the site. */
const INTERNAL = new Set(['status.md', 'releasing.md'])
const SKIPPED = new Set(['node_modules', '.vitepress', 'public', 'source'])

/** The pages of the site, by their paths in `docs/`. */
export function sitePages(): string[] {
  return markdownIn('').filter((path) => !INTERNAL.has(path))
}

/** Every page for a reader outside or inside, by its path in the repository. */
export function allPages(): string[] {
  const beside = readdirSync(root).filter((name) => name.endsWith('.md'))
  return [...beside, ...markdownIn('').map((path) => `docs/${path}`)].sort()
}

export function textOf(page: string): string {
  return readFileSync(join(root, page), 'utf8')
}

function markdownIn(folder: string): string[] {
  return readdirSync(join(root, 'docs', folder), { withFileTypes: true })
    .flatMap((entry) => {
      if (SKIPPED.has(entry.name)) return []
      const path = folder === '' ? entry.name : `${folder}/${entry.name}`
      return entry.isDirectory() ? markdownIn(path) : path.endsWith('.md') ? [path] : []
    })
    .sort()
}
