import { hostname } from 'node:os'
import pino from 'pino'
import type { Logger } from '../../supervisor/logger.ts'
import { asError, messageOf } from '../../thrown.ts'
import { LogLines, leftOutWords } from './log-lines.ts'
import type { Terminal } from './terminal.ts'

type Level = keyof Logger
/** As pino counts. */
const WARN = 40

export interface LogOptions {
  json: boolean
  /** Warnings and errors only. */
  quiet: boolean
}

/** What a line in the log is about. */
interface Details {
  worker?: string
  err?: unknown
  pid?: number
  /** Why a worker backs off. */
  reason?: string
}

/** For people: a line each, with who it is about. For programs: what pino writes. */
export function logTo(terminal: Terminal, { json, quiet }: LogOptions): Logger {
  // Without our own pid, which would stand beside the one of the worker that a line is about.
  const base = { hostname: hostname() }
  if (json) {
    const note = (lines: number) =>
      `${JSON.stringify({ level: WARN, time: Date.now(), ...base, msg: leftOutWords(lines) })}\n`
    const serializers = { err: (error: unknown) => pino.stdSerializers.err(asError(error)) }
    return pino(
      { level: quiet ? 'warn' : 'info', base, serializers },
      new LogLines(terminal.stream('stdout'), note),
    )
  }
  const lines = new LogLines(terminal.stream('stderr'), (count) => `${leftOutWords(count)}\n`)
  const line = (level: Level) => (details: object, message: string) => {
    if (quiet && level === 'info') return
    const { worker, err, pid, reason } = details as Details
    const time = terminal.style('dim', new Date().toTimeString().slice(0, 8))
    const who = worker === undefined ? '' : `${terminal.style('cyan', worker)} `
    const where = pid === undefined ? '' : ` (pid ${pid})`
    const why = err === undefined ? reason : messageOf(err)
    const text = `${message}${where}${why === undefined ? '' : `: ${why}`}`
    const coloured =
      level === 'error'
        ? terminal.style('red', text)
        : level === 'warn'
          ? terminal.style('yellow', text)
          : text
    lines.write(`${terminal.shown(`${time} ${who}${coloured}`)}\n`)
  }
  return { debug: () => {}, info: line('info'), warn: line('warn'), error: line('error') }
}
