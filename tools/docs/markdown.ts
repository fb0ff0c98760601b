import { slug } from './slug.ts'

export interface Link {
  line: number
  target: string
}

/** A page without its code and its comments; the lines stay, so that line numbers hold. */
export function proseOf(markdown: string): string {
  return markdown
    .replaceAll(/^ *(`{3,}|~{3,})[\s\S]*?^ *\1[^\S\n]*$/gm, blank)
    .replaceAll(/<!--[\s\S]*?-->/g, blank)
    .replaceAll(/(`+)(?!`)[^\n]*?(?<!`)\1(?!`)/g, blank)
}

/** The first title of a page, without its marks. */
export function titleOf(markdown: string): string {
  const title = /^# (?<title>.+)$/m.exec(withoutFences(markdown))?.groups?.title
  return plain(title ?? /^title: *(?<title>.+)$/m.exec(markdown)?.groups?.title ?? '')
}

/** Where a link into this page can lead. */
export function anchorsOf(markdown: string): Set<string> {
  const anchors = new Set<string>()
  const titles = withoutFences(markdown).matchAll(/^#{1,6} +(?<title>.+?)(?: +#+)?$/gm)
  for (const { groups } of titles) {
    const anchor = slug(plain(groups!.title!))
    let unique = anchor
    for (let n = 1; anchors.has(unique); n++) unique = `${anchor}-${n}`
    anchors.add(unique)
  }
  for (const { groups } of proseOf(markdown).matchAll(/ (?:id|name)="(?<id>[^"]+)"/g))
    anchors.add(groups!.id!)
  return anchors
}

const LINK =
  /\]\(\s*<?(?<inline>[^)\s>]*)>?(?:\s+"[^"]*")?\s*\)|^\[[^\]]+\]:\s*(?<reference>\S+)|<\w+[^>]*? (?:href|src|srcset)="(?<html>[^"]*)"|^\s+link: *(?<front>\S+)$/gm

/** Links and pictures, of prose and of front matter. */
export function linksOf(markdown: string): Link[] {
  const prose = proseOf(markdown)
  return [...prose.matchAll(LINK)].map(({ groups, index }) => ({
    line: prose.slice(0, index).split('\n').length,
    target: groups!.inline ?? groups!.reference ?? groups!.html ?? groups!.front ?? '',
  }))
}

function blank(text: string): string {
  return text.replaceAll(/[^\n]/g, ' ')
}

function withoutFences(markdown: string): string {
  return markdown.replaceAll(/^ *(`{3,}|~{3,})[\s\S]*?^ *\1[^\S\n]*$/gm, blank)
}

/** Without marks of emphasis, code and links. */
function plain(text: string): string {
  return text
    .replaceAll(/!?\[([^\]]*)\]\([^)]*\)/g, '$1')
    .replaceAll(/\*\*|`/g, '')
    .trim()
}
