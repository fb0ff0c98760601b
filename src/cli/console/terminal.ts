import { randomUUID } from 'node:crypto'
import { fstatSync } from 'node:fs'
import { createInterface } from 'node:readline/promises'
import { text as textOf } from 'node:stream/consumers'
import { styleText } from 'node:util'
import { escaped } from './escape.ts'
import type { LogStream } from './log-lines.ts'

/** Where a command reads and writes. */
export interface Terminal {
  /** A line of what was asked for. Whatever a terminal would obey in it is escaped, but for what `style` added. */
  print(line?: string): void
  /** A line about it: errors, hints, what goes on. */
  complain(line: string): void
  /** As it is, for those who draw. */
  write(text: string): void
  /** The same on stderr, for those who draw beside what was asked for. */
  writeAside(text: string): void
  /** For a log: what is written there, and how much of it was not read yet. */
  stream(to: 'stdout' | 'stderr'): LogStream
  style(format: Parameters<typeof styleText>[0], text: string): string
  /** A line as `print` would write it. */
  shown(line: string): string
  /** Waits for a line; null when there is none any more. */
  ask(question: string): Promise<string | null>
  /** All that comes in on stdin. */
  readAll(): Promise<string>
  /** It can be redrawn in place, and keys can be read. */
  readonly isInteractive: boolean
  /** A person can be asked. */
  readonly canAsk: boolean
  /** Progress can be drawn on stderr. */
  readonly canDraw: boolean
  /** What is written to stderr goes to a file that other users can read. */
  readonly isReadByOthers: boolean
  readonly columns: number
  readonly rows: number
  readonly cwd: string
  readonly env: NodeJS.ProcessEnv
}

const READ_BY_OTHERS = 0o044

export function processTerminal(): Terminal {
  const { stdin, stdout, stderr, env } = process
  // Whoever reads no further (`gleaner status | head`) ends the program.
  stdout.on('error', () => process.exit(0))
  // What cannot be complained about is no reason to end.
  stderr.on('error', () => {})
  const isDrawable = (stream: NodeJS.WriteStream) => stream.isTTY === true && env.TERM !== 'dumb'
  const isInteractive = isDrawable(stdout)
  const { style, shown } = colours(isInteractive && !env.NO_COLOR)
  return {
    print: (line = '') => void stdout.write(`${shown(line)}\n`),
    complain: (line) => void stderr.write(`${shown(line)}\n`),
    write: (text) => void stdout.write(text),
    writeAside: (text) => void stderr.write(text),
    stream: (to) => process[to],
    style,
    shown,
    ask: (question) => answerTo(shown(question)),
    readAll: () => textOf(stdin),
    isInteractive,
    canAsk: stdin.isTTY === true && stderr.isTTY === true,
    canDraw: isDrawable(stderr),
    isReadByOthers: isFileOfAll(stderr.fd),
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

function isFileOfAll(descriptor: number): boolean {
  try {
    const file = fstatSync(descriptor)
    return file.isFile() && (file.mode & READ_BY_OTHERS) !== 0
  } catch {
    // It is closed.
    return false
  }
}

type Colours = Pick<Terminal, 'style' | 'shown'>

/**
 * What is printed holds texts of strangers: names, payloads, errors. They are escaped where everything passes, so that no command can
 * forget it; our own colours are told from theirs by a mark that nobody else can know.
 */
export function colours(hasColours: boolean): Colours {
  if (!hasColours) return { style: (_format, text) => text, shown: escaped }
  const mark = `<${randomUUID()}>`
  return {
    style: (format, text) =>
      styleText(format, escaped(text), { validateStream: false }).replaceAll('\x1b[', `${mark}[`),
    shown: (line) => escaped(line).replaceAll(`${mark}[`, '\x1b['),
  }
}

async function answerTo(question: string): Promise<string | null> {
  const lines = createInterface({ input: process.stdin, output: process.stderr })
  const closed = new Promise<null>((resolve) => lines.once('close', () => resolve(null)))
  try {
    return await Promise.race([lines.question(question), closed])
  } finally {
    lines.close()
  }
}
