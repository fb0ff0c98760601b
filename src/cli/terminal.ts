import { styleText } from 'node:util'

/** Where a command reads and writes. */
export interface Terminal {
  /** A line of what was asked for. */
  print(line?: string): void
  /** A line about it: errors, hints, what goes on. */
  complain(line: string): void
  /** As it is, without an end of line. */
  write(text: string): void
  style(format: Parameters<typeof styleText>[0], text: string): string
  /** It can be redrawn in place, and keys can be read. */
  readonly isInteractive: boolean
  readonly columns: number
  readonly rows: number
  readonly cwd: string
  readonly env: NodeJS.ProcessEnv
}

export function processTerminal(): Terminal {
  const { stdout, env } = process
  // Whoever reads no further (`gleaner status | head`) ends the program.
  stdout.on('error', () => process.exit(0))
  const isInteractive = stdout.isTTY === true && env.TERM !== 'dumb'
  const hasColours = isInteractive && !env.NO_COLOR
  return {
    print: (line = '') => void stdout.write(`${line}\n`),
    complain: (line) => void process.stderr.write(`${line}\n`),
    write: (text) => void stdout.write(text),
    style: (format, text) => (hasColours ? styleText(format, text, { validateStream: false }) : text),
    isInteractive,
    // A terminal may not know its size.
    get columns() {
      return stdout.columns || 80
    },
    get rows() {
      return stdout.rows || 24
    },
    cwd: process.cwd(),
    env,
  }
}
