import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { markdownPieces } from './markdown.ts'
import { messagePieces } from './messages.ts'
import { publicCommentPieces } from './public-comments.ts'
import { RULES } from './rules.ts'
import { type Piece, sentencesOf } from './sentences.ts'
import { examplePieces, fencedPieces, markupPieces } from './shown-code.ts'

export interface Violation {
  file: string
  line: number
  rule: string
  found: string
  sentence: string
}

const PAGES = ['README.md', 'CHANGELOG.md', 'SECURITY.md', 'CONTRIBUTING.md', 'AGENTS.md', 'docs', 'examples']
const CODE = ['src', 'web', 'examples', 'docs/.vitepress/config.ts', 'docs/.vitepress/theme']
const MARKUP = ['web/index.html', 'docs/images']
const SKIPPED = new Set(['node_modules', 'dist', 'cache', '.vitepress'])
/** A note for the people who build Gleaner: no page leads to it, and the site does not have it. */
const INTERNAL = 'docs/status.md'

/** Every text of the checkout at `root` that a user reads. */
export function collect(root: string): Piece[] {
  const read = (file: string) => readFileSync(join(root, file), 'utf8')
  const pages = PAGES.flatMap((path) => filesUnder(root, path, /\.md$/))
  const code = CODE.flatMap((path) => filesUnder(root, path, /\.tsx?$/))
  const examples = filesUnder(root, 'examples', /^(?!.*\.md$)/)
  const markup = MARKUP.flatMap((path) => filesUnder(root, path, /\.(?:svg|html)$/))
  return [
    ...pages.flatMap((file) => [...markdownPieces(file, read(file)), ...fencedPieces(file, read(file))]),
    ...code.flatMap((file) => messagePieces(file, read(file))),
    ...examples.flatMap((file) => examplePieces(file, read(file))),
    ...markup.flatMap((file) => markupPieces(file, read(file))),
    ...publicCommentPieces(root),
  ].filter(({ file }) => file !== INTERNAL)
}

/** Every sentence of the checkout at `root` that breaks a rule of the language. */
export function checkLanguage(root: string): Violation[] {
  return collect(root).flatMap(violationsIn)
}

function violationsIn({ file, line, text }: Piece): Violation[] {
  return sentencesOf(text).flatMap((sentence) =>
    Object.entries(RULES).flatMap(([rule, { find }]) => {
      const found = find(sentence)
      return found === undefined ? [] : [{ file, line, rule, found, sentence }]
    }),
  )
}

export function describeViolation({ file, line, rule, found, sentence }: Violation): string {
  return `${file}:${line}  ${found}  [${rule}] ${RULES[rule]!.advice}\n    ${sentence}`
}

function filesUnder(root: string, path: string, names: RegExp): string[] {
  if (!existsSync(join(root, path))) return []
  if (statSync(join(root, path)).isFile()) return names.test(path) ? [path] : []
  return readdirSync(join(root, path))
    .filter((name) => !SKIPPED.has(name))
    .sort()
    .flatMap((name) => filesUnder(root, `${path}/${name}`, names))
}
