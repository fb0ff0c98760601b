import type { Terminal } from '../console/terminal.ts'

/** Another screen, without a cursor, long lines cut; and back. */
const BEGIN = '\x1b[?1049h\x1b[?25l\x1b[?7l'
const END = '\x1b[?7h\x1b[?25h\x1b[?1049l'
const HOME = '\x1b[H'
const CLEAR_LINE = '\x1b[K'
const CLEAR_BELOW = '\x1b[J'

/** The whole terminal, for as long as `use` takes. Given back also when the program ends for another reason. */
export async function withScreen<T>(
  { write, shown }: Terminal,
  use: (draw: (lines: readonly string[]) => void) => Promise<T>,
): Promise<T> {
  const restore = () => write(END)
  write(BEGIN)
  process.once('exit', restore)
  try {
    return await use((lines) => {
      const text = lines.map((line) => `${shown(line)}${CLEAR_LINE}`).join('\r\n')
      write(`${HOME}${text}${CLEAR_BELOW}`)
    })
  } finally {
    process.off('exit', restore)
    restore()
  }
}

const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const

/** Keys as they are pressed, by their names; 'quit' when there will be none any more. The answer stops it. */
export function readKeys(onKey: (key: string) => void): () => void {
  const { stdin } = process
  const onData = (chunk: Buffer) => {
    for (const key of keysIn(chunk.toString())) onKey(key)
  }
  const quit = () => onKey('quit')
  for (const signal of SIGNALS) process.on(signal, quit)
  if (stdin.isTTY) stdin.setRawMode(true)
  stdin.on('data', onData).on('end', quit).resume()
  return () => {
    for (const signal of SIGNALS) process.off(signal, quit)
    stdin.off('data', onData).off('end', quit)
    if (stdin.isTTY) stdin.setRawMode(false)
    stdin.pause()
  }
}

const NAMES: Readonly<Record<string, string>> = {
  '\x1b[A': 'up',
  '\x1bOA': 'up',
  '\x1b[B': 'down',
  '\x1bOB': 'down',
  '\x1b': 'escape',
  '\x03': 'quit',
  '\x04': 'quit',
  k: 'up',
  j: 'down',
  q: 'quit',
}

/** Several may come at once; sequences that we do not know are none. */
export function keysIn(text: string): string[] {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: that is how a terminal says them
  const keys = text.match(/\x1b(?:\[[0-9;]*[A-Za-z~]|O[A-Z])|[\s\S]/g) ?? []
  return keys.flatMap((key) => NAMES[key] ?? (key.length === 1 ? key.toLowerCase() : []))
}
