import { CONFIG_OPTION, type Command, UsageError } from '../command.ts'
import { withStore } from '../opening.ts'
import { readOverview } from '../overview.ts'
import { overviewLines } from '../overview-text.ts'
import type { Terminal } from '../terminal.ts'

const REDRAW_MS = 1_000

/** Another screen, without a cursor, long lines cut; and back. */
const BEGIN = '\x1b[?1049h\x1b[?25l\x1b[?7l'
const END = '\x1b[?7h\x1b[?25h\x1b[?1049l'
const HOME = '\x1b[H'
const CLEAR_LINE = '\x1b[K'
const CLEAR_BELOW = '\x1b[J'

export const top: Command = {
  name: 'top',
  summary: 'Watch workers and queues live.',
  operands: '',
  operandsMax: 0,
  about:
    'What `gleaner status` shows, redrawn every second. q or Ctrl-C ends it and gives the terminal back as it was. ' +
    'It needs a terminal; elsewhere use `gleaner status`.',
  options: { config: CONFIG_OPTION },
  examples: [['gleaner top', 'Watch.']],
  async run(_operands, values, terminal) {
    if (!terminal.isInteractive)
      throw new UsageError('gleaner top needs a terminal', 'Use gleaner status, or gleaner status --json.')
    return withStore(values, terminal, async (store, config) => {
      const restore = takeOver(terminal)
      try {
        await drawUntilEnded(terminal, async () => {
          const overview = await readOverview(store, config)
          return overviewLines(overview, terminal.style, terminal.columns - 1)
        })
      } finally {
        restore()
      }
      return 0
    })
  },
}

/** Given back also when the program ends for another reason. */
function takeOver({ write }: Terminal): () => void {
  const restore = () => write(END)
  write(BEGIN)
  process.once('exit', restore)
  return () => {
    process.off('exit', restore)
    restore()
  }
}

async function drawUntilEnded(terminal: Terminal, read: () => Promise<string[]>): Promise<void> {
  const { ended, stop } = untilEnded()
  try {
    for (;;) {
      const lines = await read().catch((error: Error) => [terminal.style('red', error.message)])
      const shown = [...lines.slice(0, terminal.rows - 2), '', terminal.style('dim', 'q quits')]
      terminal.write(`${HOME}${shown.map((line) => `${line}${CLEAR_LINE}`).join('\r\n')}${CLEAR_BELOW}`)
      if (await Promise.race([ended.then(() => true), rested()])) return
    }
  } finally {
    stop()
  }
}

function rested(): Promise<boolean> {
  return new Promise((resolve) => setTimeout(resolve, REDRAW_MS, false))
}

/** By q, Ctrl-C or a signal. */
function untilEnded(): { ended: Promise<void>; stop: () => void } {
  const { promise: ended, resolve } = Promise.withResolvers<void>()
  const { stdin } = process
  const onKey = (key: Buffer) => {
    if (['q', 'Q', '\x03', '\x04', '\x1b'].includes(key.toString())) resolve()
  }
  const signals = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const
  for (const signal of signals) process.once(signal, resolve)
  if (stdin.isTTY) stdin.setRawMode(true)
  stdin.on('data', onKey)
  stdin.resume()
  return {
    ended,
    stop() {
      for (const signal of signals) process.off(signal, resolve)
      stdin.off('data', onKey)
      if (stdin.isTTY) stdin.setRawMode(false)
      stdin.pause()
    },
  }
}
