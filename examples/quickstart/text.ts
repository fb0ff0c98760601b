// Words, numbers and bars for a terminal, or for a plain file.
import { styleText } from 'node:util'

const { stdout, env } = process

/** A terminal that can be redrawn in place. */
export const isTerminal = stdout.isTTY === true && env.TERM !== 'dumb'
const hasColours = isTerminal && !env.NO_COLOR

export function style(format: Parameters<typeof styleText>[0], text: string): string {
  return hasColours ? styleText(format, text, { validateStream: false }) : text
}

/** Eighths of a character, so that a bar moves smoothly. */
const EIGHTHS = ['', '▏', '▎', '▍', '▌', '▋', '▊', '▉']

/** A value above zero is always visible. */
export function bar(fraction: number, width: number): string {
  const eighths = Math.round(Math.min(1, Math.max(0, fraction)) * width * 8)
  const shown = fraction > 0 ? Math.max(1, eighths) : 0
  return ('█'.repeat(shown / 8) + EIGHTHS[shown % 8]).padEnd(width)
}

const HEIGHTS = ' ▁▂▃▄▅▆▇█'

/** One character for each number, the highest at full height. */
export function sparkline(numbers: readonly number[]): string {
  const highest = Math.max(1, ...numbers)
  return numbers.map((n) => HEIGHTS[Math.ceil((n / highest) * (HEIGHTS.length - 1))]).join('')
}

export function seconds(ms: number): string {
  return `${(ms / 1000).toFixed(1)} s`
}

/** Three digits are enough. */
export function duration(ms: number): string {
  if (ms < 10) return `${ms.toFixed(1)} ms`
  if (ms < 1000) return `${Math.round(ms)} ms`
  return seconds(ms)
}

/** One line, and no longer than `width`. */
export function cut(text: string, width: number): string {
  const line = text.split('\n')[0] ?? ''
  return line.length <= width ? line : `${line.slice(0, Math.max(0, width - 1))}…`
}

/** The value that a share of all (0.95) does not exceed. */
export function percentile(values: readonly number[], share: number): number {
  const sorted = [...values].sort((a, b) => a - b)
  return sorted[Math.max(0, Math.ceil(sorted.length * share) - 1)] ?? 0
}

export function plural(count: number, word: string): string {
  return `${count} ${word}${count === 1 ? '' : 's'}`
}
