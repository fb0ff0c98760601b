import type { Piece } from './sentences.ts'

/** What begins a comment, by the language of a fence or the ending of a file. */
const MARKS: Readonly<Record<string, string>> = {
  ...Object.fromEntries(['ts', 'mts', 'tsx', 'js', 'mjs', 'cjs', 'jsonc'].map((name) => [name, '//'])),
  ...Object.fromEntries(
    ['sh', 'bash', 'yaml', 'yml', 'ini', 'service', 'timer', 'py', 'python', 'docker', 'dockerfile'].map(
      (name) => [name, '#'],
    ),
  ),
  sql: '--',
}

const FENCE = /^ *(`{3,}|~{3,})(\w*)[^\n]*\n([\s\S]*?)^ *\1/gm

/** The comments in the code blocks of a page: a reader reads them with the code. */
export function fencedPieces(file: string, markdown: string): Piece[] {
  return [...markdown.matchAll(FENCE)].flatMap(({ index, 2: language, 3: code }) => {
    const line = markdown.slice(0, index).split('\n').length + 1
    return commentPieces(file, code!, MARKS[language!], line)
  })
}

/** The comments of an example. */
export function examplePieces(file: string, code: string): Piece[] {
  const name = file.slice(file.lastIndexOf('/') + 1).toLowerCase()
  return commentPieces(file, code, MARKS[name.slice(name.lastIndexOf('.') + 1)], 1)
}

/** The words of a picture or a page in HTML, without its styles and scripts. */
export function markupPieces(file: string, markup: string): Piece[] {
  const shown = markup.replaceAll(/<(style|script)\b[\s\S]*?<\/\1>/g, (hidden) =>
    hidden.replaceAll(/[^\n]/g, ' '),
  )
  return [...shown.matchAll(/>([^<>]*\p{L}[^<>]*)</gu)].map(({ index, 1: text }) => ({
    file,
    line: shown.slice(0, index).split('\n').length,
    text: text!.trim(),
  }))
}

/** Lines of a comment that follow each other are one text. */
function commentPieces(file: string, code: string, mark: string | undefined, firstLine: number): Piece[] {
  if (mark === undefined) return []
  const pieces: Piece[] = []
  let isOpen = false
  for (const [index, line] of code.split('\n').entries()) {
    const found = new RegExp(`^(.*?)(?:^|\\s)${mark}\\s+(.*)$`).exec(line) ?? blockComment(mark, line)
    const [, before = '', text = ''] = found ?? []
    const isWhole = found !== null && before.trim() === ''
    if (isOpen && isWhole) pieces.at(-1)!.text += ` ${text}`
    else if (found !== null) pieces.push({ file, line: firstLine + index, text })
    isOpen = isWhole
  }
  return pieces.filter(({ text }) => /\p{L}/u.test(text))
}

/** `/** A line. *\/`, or a line of such a comment. */
function blockComment(mark: string, line: string): RegExpExecArray | null {
  if (mark !== '//') return null
  return /^(.*?)\/\*\*?\s+(.*?)\s*(?:\*\/)?\s*$/.exec(line) ?? /^(\s*)\*\s+(.*?)\s*(?:\*\/)?\s*$/.exec(line)
}
