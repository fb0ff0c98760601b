import { posix } from 'node:path'
import { contents, DECISIONS, type FilledSection } from './contents.ts'
import { proseOf } from './markdown.ts'
import { textOf } from './pages.ts'

const SUMMARY =
  'Gleaner runs background work for Node.js apps: a task queue, discovery of work in your own tables, and supervised workers, on SQLite or PostgreSQL.'

/** Where a link of a page leads, by its path in the repository; undefined: it becomes plain text. */
export type Address = (path: string) => string | undefined

/** `llms.txt`: which pages there are, and what each is for. https://llmstxt.org */
export function llmsIndex(addressOf: Address): string {
  const sections = sectionsForUsers()
  return [
    '# Gleaner',
    '',
    `> ${SUMMARY}`,
    '',
    'llms-full.txt has the text of all pages. AGENTS.md says how to build with Gleaner.',
    ...sections.flatMap(({ title, entries }) => [
      '',
      `## ${title}`,
      '',
      ...entries.map((entry) => {
        const address = addressOf(`docs/${entry.page}`)
        const name = address === undefined ? `${entry.title} (${entry.page})` : `[${entry.title}](${address})`
        return `- ${name}: ${firstSentence(textOf(`docs/${entry.page}`))}`
      }),
    ]),
    '',
  ].join('\n')
}

/** `llms-full.txt`: every page, one after the other. Links between pages name the page. */
export function llmsFull(addressOf: Address): string {
  const entries = sectionsForUsers().flatMap((section) => section.entries)
  const pages = new Set(entries.map(({ page }) => `docs/${page}`))
  const within: Address = (path) => (pages.has(path) ? path.slice('docs/'.length) : addressOf(path))
  return [
    '# Gleaner',
    '',
    `> ${SUMMARY}`,
    ...entries.map(({ page }) => {
      const path = `docs/${page}`
      const text = withAddresses(withoutPictures(textOf(path)), path, within)
      return `\n<page path="${page}">\n\n${text.replaceAll(/^<!-- given\n.*?^-->\n+/gms, '').trim()}\n\n</page>`
    }),
    '',
  ].join('\n')
}

/** Without the decisions, which are notes for the people who change Gleaner. */
function sectionsForUsers(): FilledSection[] {
  return contents()
    .filter(({ title }) => title !== DECISIONS)
    .map(({ title, entries }) => ({
      title,
      entries: entries.filter(({ page }) => !page.startsWith('decisions/')),
    }))
}

const LINK = /(?<mark>!?)\[(?<text>(?:[^[\]]|\[[^\]]*\])*)\]\((?<target>[^)\s]+)\)/g

/** A page with its relative links led elsewhere. Code and comments stay as they are. */
export function withAddresses(text: string, page: string, addressOf: Address): string {
  const prose = proseOf(text)
  return text.replaceAll(LINK, (whole, mark: string, label: string, target: string, at: number) => {
    const isCode = prose.slice(at, at + whole.length).trim() === ''
    if (isCode || target.startsWith('#') || /^[a-z]+:/i.test(target)) return whole
    const [path = '', anchor] = target.split('#')
    const file = posix.join(posix.dirname(page), decodeURIComponent(path)).replace(/\/$/, '')
    const address = addressOf(file)
    if (address === undefined) return mark === '!' ? '' : label
    // The text of all pages has no addresses of titles.
    const isTitled = anchor !== undefined && /^(?:https?:|\/)/.test(address)
    return `${mark}[${label}](${address}${isTitled ? `#${anchor}` : ''})`
  })
}

/** A picture says in words what it shows. */
function withoutPictures(text: string): string {
  return text.replaceAll(/!\[(?<words>[^\]]*)\]\([^)]*\)/g, 'Picture: $<words>')
}

/** The first sentence below the title, without its marks. */
function firstSentence(text: string): string {
  const paragraph = text
    .replaceAll(/^<!--.*?-->$/gms, '')
    .split(/\n\s*\n/)
    .map((part) => part.trim())
    .find((part) => /^[A-Z`*[]/.test(part) && !part.startsWith('```'))
  const plain = (paragraph ?? '').replaceAll(LINK, '$<text>').replaceAll(/\s+/g, ' ').replaceAll('**', '')
  return /^.*?[.!](?=\s|$)/.exec(plain)?.[0] ?? plain
}
