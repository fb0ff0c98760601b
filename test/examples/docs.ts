import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { allPages } from '../../tools/docs/pages.ts'

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

/** Decisions show code as it was when they were taken; the reference is generated. */
const NOT_RUN = /^docs\/(?:(?:decisions|reference)\/|status\.md$)/

/** Every page whose code a reader copies. */
export function pages(): string[] {
  return allPages().filter((page) => !NOT_RUN.test(page))
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
