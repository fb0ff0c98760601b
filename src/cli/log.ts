import { hostname } from 'node:os'
import pino from 'pino'
import type { Logger } from '../supervisor/logger.ts'
import type { Terminal } from './terminal.ts'

type Level = keyof Logger

export interface LogOptions {
  json: boolean
  /** Warnings and errors only. */
  quiet: boolean
}

/** For people: a line each, with who it is about. For programs: what pino writes. */
export function logTo(terminal: Terminal, { json, quiet }: LogOptions): Logger {
  // Without our own pid, which would stand beside the one of the worker that a line is about.
  const base = { hostname: hostname() }
  if (json) return pino({ level: quiet ? 'warn' : 'info', base }, pino.destination({ dest: 1, sync: true }))
  const line = (level: Level) => (details: object, message: string) => {
    if (quiet && level === 'info') return
    const { worker, err, pid } = details as { worker?: string; err?: unknown; pid?: number }
    const time = terminal.style('dim', new Date().toTimeString().slice(0, 8))
    const who = worker === undefined ? '' : `${terminal.style('cyan', worker)} `
    const where = pid === undefined ? '' : ` (pid ${pid})`
    const why = err === undefined ? '' : `: ${err instanceof Error ? err.message : String(err)}`
    const text = `${message}${where}${why}`
    const coloured =
      level === 'error'
        ? terminal.style('red', text)
        : level === 'warn'
          ? terminal.style('yellow', text)
          : text
    terminal.complain(`${time} ${who}${coloured}`)
  }
  return { debug: () => {}, info: line('info'), warn: line('warn'), error: line('error') }
}
