import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

/** A fenced block of a page. */
export interface Block {
  page: string
  line: number
  language: string
  /** The words behind the language: `ts run` is a whole program, `text output` what the one before prints. */
  mark: string
  code: string
  /** For a fragment: what the page says must stand before it, in the last `<!-- given … -->`. */
  given: string
  /** The block that follows, if any, other than commands for a shell. */
  next: Block | undefined
}

const FOLDERS = ['start', 'guide', 'deploy', 'coming-from', 'understand']
const SINGLE_PAGES = ['README.md', 'AGENTS.md', 'docs/compare.md', 'docs/releasing.md']

export function pages(checkout: string): string[] {
  const inFolders = FOLDERS.flatMap((folder) => {
    const path = join(checkout, 'docs', folder)
    if (!existsSync(path)) return []
    const names = readdirSync(path).filter((name) => name.endsWith('.md'))
    return names.sort().map((name) => `docs/${folder}/${name}`)
  })
  return [...SINGLE_PAGES.filter((page) => existsSync(join(checkout, page))), ...inFolders]
}

const PART = /^<!-- given\n(?<given>.*?)^-->$|^```(?<language>\w+)(?: (?<mark>\w+))?\n(?<code>.*?)^```$/gms

export function blocksOf(checkout: string, page: string): Block[] {
  const text = readFileSync(join(checkout, page), 'utf8')
  const blocks: Block[] = []
  let given = ''
  for (const { groups, index } of text.matchAll(PART)) {
    if (groups?.given !== undefined) {
      given = groups.given
      continue
    }
    const { language = '', mark = '', code = '' } = groups ?? {}
    const line = text.slice(0, index).split('\n').length
    const block: Block = { page, line, language, mark, code, given, next: undefined }
    // How a program is started may stand between it and its output.
    const before = blocks.findLast((other) => other.language !== 'sh')
    if (before !== undefined && language !== 'sh') before.next = block
    blocks.push(block)
  }
  return blocks
}

/** Links to files of this checkout. */
export function linksOf(checkout: string, page: string): string[] {
  const text = readFileSync(join(checkout, page), 'utf8')
  return [...text.matchAll(/\]\((?!https?:)(?<target>[^)#]+)/g)].map(({ groups }) => groups!.target!)
}
