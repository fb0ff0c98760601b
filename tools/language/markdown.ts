import type { Piece } from './sentences.ts'

const LIST_ITEM = /^\s*(?:[-*+]|\d+[.)])\s+(?:\[[ x]\]\s+)?/
const HEADING = /^#{1,6}\s+/

/** The prose of a markdown page: paragraphs, items, cells, titles and picture texts, without code. */
export function markdownPieces(file: string, markdown: string): Piece[] {
  const pieces: Piece[] = []
  let open: { line: number; lines: string[] } | undefined
  const add = (line: number, text: string) => {
    if (/\p{L}/u.test(text)) pieces.push({ file, line, text: plain(text) })
  }
  const close = () => {
    if (open) add(open.line, open.lines.join(' '))
    open = undefined
  }

  const lines = withoutComments(markdown).split('\n')
  let fence: string | undefined
  let isFrontMatter = lines[0] === '---'
  for (const [index, raw] of lines.entries()) {
    const number = index + 1
    if (isFrontMatter) {
      if (index > 0 && raw === '---') isFrontMatter = false
      else add(number, raw.replace(/^[\s-]*\w+:\s*/, ''))
      continue
    }
    const mark = /^\s*(?:>\s*)?(`{3,}|~{3,})/.exec(raw)?.[1]
    if (fence !== undefined) {
      if (mark?.startsWith(fence)) fence = undefined
      continue
    }
    if (mark !== undefined) {
      close()
      fence = mark
      continue
    }
    const line = raw.replace(/^(?:\s*>)+\s?/, '')
    if (line.trim() === '' || /^\s*:::/.test(line) || /^\s*(?:---+|\*\*\*+)\s*$/.test(line)) close()
    else if (HEADING.test(line)) {
      close()
      add(number, line.replace(HEADING, ''))
    } else if (/^\s*\|/.test(line)) {
      close()
      for (const cell of cellsOf(line)) add(number, cell)
    } else if (LIST_ITEM.test(line)) {
      close()
      open = { line: number, lines: [line.replace(LIST_ITEM, '')] }
    } else {
      open ??= { line: number, lines: [] }
      open.lines.push(line.trim())
    }
  }
  close()
  return pieces
}

/** Comments go, their lines stay, so that line numbers hold. */
function withoutComments(markdown: string): string {
  return markdown.replaceAll(/<!--[\s\S]*?-->/g, (comment) => comment.replaceAll(/[^\n]/g, ''))
}

function cellsOf(line: string): string[] {
  return line
    .split(/(?<!\\)\|/)
    .map((cell) => cell.trim())
    .filter((cell) => cell !== '' && !/^:?-+:?$/.test(cell))
}

function plain(markdown: string): string {
  return markdown
    .replaceAll(/!?\[((?:[^[\]]|\[[^\]]*\])*)\]\([^)]*\)/g, '$1')
    .replaceAll(/!?\[((?:[^[\]]|\[[^\]]*\])*)\]\([^)]*\)/g, '$1')
    .replaceAll(/<\/?[a-zA-Z][^<>]*>/g, ' ')
    .replaceAll(/\*\*|__/g, '')
    .trim()
}
