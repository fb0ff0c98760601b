import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { llmsFull, llmsIndex, withAddresses } from '../docs/llms.ts'
import { root } from '../docs/pages.ts'

const PICTURE = /\.(?:png|svg)$/
/** Pages in the package whose links must lead somewhere. */
const PAGES = ['README.md', 'CHANGELOG.md', 'AGENTS.md']
const SHIPPED = new Set([...PAGES, 'LICENSE', 'llms.txt', 'llms-full.txt'])

/**
 * The pages of the package. Links to what the package does not have lead to the release in the repository. Without a repository they
 * become plain text, and pictures are left out.
 */
export function packedPages(repository: string | undefined): Record<string, string> {
  const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { version: string }
  const base = repository?.replace(/(?:\.git)?\/*$/, '')
  const outside = (path: string) =>
    base === undefined ? undefined : `${base}/${PICTURE.test(path) ? 'raw' : 'blob'}/v${version}/${path}`
  const addressOf = (path: string) => (SHIPPED.has(path) ? path : outside(path))
  return {
    ...Object.fromEntries(
      PAGES.map((page) => [page, withAddresses(readFileSync(join(root, page), 'utf8'), page, addressOf)]),
    ),
    'llms.txt': llmsIndex(addressOf),
    'llms-full.txt': llmsFull(addressOf),
  }
}
