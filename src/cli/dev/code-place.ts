import { spawnSync } from 'node:child_process'
import { property } from '../../thrown.ts'
import { placesIn } from '../text/work-line.ts'

const CHECK_MS = 2_000
const LINES_MAX = 6

/** The line that cannot be parsed, or where in your code an error was thrown. Empty: unknown. */
export function placeOf(error: unknown, loaded: readonly string[], cwd: string): string[] {
  const cause = property(error, 'cause') ?? error
  const stack = property(cause, 'stack')
  if (typeof stack !== 'string') return []
  const excerpt = excerptIn(stack)
  if (excerpt.length > 0) return excerpt
  return property(cause, 'name') === 'SyntaxError' ? syntaxPlace(loaded) : placesIn(stack, cwd)
}

/** The hint for such an error says how to find the place. */
export function isParseError(error: unknown): boolean {
  const cause = property(error, 'cause') ?? error
  const message = property(cause, 'message')
  return property(cause, 'name') === 'SyntaxError' && !/export named|outside a module/.test(String(message))
}

/** Node writes the file, the line of code and a mark before the error: `/app/tasks.ts:2`. */
function excerptIn(text: string): string[] {
  const lines = text.split('\n')
  const end = lines.findIndex((line) => /^\w*Error\b/.test(line))
  if (end <= 0 || !/:\d+$/.test(lines[0]!)) return []
  return lines
    .slice(0, end)
    .filter((line) => line.trim() !== '')
    .slice(0, LINES_MAX)
    .map((line) => line.replace(/^file:\/\//, ''))
}

/** An error in JavaScript that was imported does not say where it is. Node's own check of the file does. */
function syntaxPlace(loaded: readonly string[]): string[] {
  for (const file of loaded.toReversed().filter((one) => /\.[cm]?js$/.test(one))) {
    const { stderr } = spawnSync(process.execPath, ['--check', file], { encoding: 'utf8', timeout: CHECK_MS })
    const excerpt = excerptIn(stderr ?? '')
    if (excerpt.length > 0) return excerpt
  }
  return []
}
