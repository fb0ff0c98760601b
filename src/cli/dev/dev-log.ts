import type { Logger } from '../../supervisor/logger.ts'
import { messageOf } from '../../thrown.ts'
import { LogLines, leftOutWords } from '../console/log-lines.ts'
import type { Terminal } from '../console/terminal.ts'

/** The log of `gleaner dev`: on stdout, in colour on a terminal. */
export class DevLog {
  readonly #lines: LogLines
  readonly #terminal: Pick<Terminal, 'style' | 'shown'>

  constructor(terminal: Pick<Terminal, 'style' | 'shown' | 'stream'>) {
    this.#terminal = terminal
    this.#lines = new LogLines(terminal.stream('stdout'), (count) => `${leftOutWords(count)}\n`)
  }

  /** With the time. */
  say(line: string, ...below: string[]): void {
    const time = this.#terminal.style('dim', new Date().toTimeString().slice(0, 8))
    this.plain(`${time} ${line}`, ...below.map((one) => `         ${one}`))
  }

  plain(...lines: string[]): void {
    for (const line of lines) this.#lines.write(`${this.#terminal.shown(line)}\n`)
  }

  good(message: string): void {
    this.say(`${this.#terminal.style('green', '→')} ${message}`)
  }

  error(message: string, ...below: string[]): void {
    this.say(this.#terminal.style('red', `✗ ${message}`), ...below)
  }

  warn(message: string): void {
    this.say(this.#terminal.style('yellow', `! ${message}`))
  }

  /** What the supervisor and the server say. Starts and stops of workers are shown only with `--verbose`. */
  logger(isVerbose: boolean, onDashboard: (address: string) => void): Logger {
    return {
      debug: () => {},
      info: (details, message) => {
        const { dashboard, stream, worker } = details as Details
        if (dashboard !== undefined) return onDashboard(dashboard)
        if (stream !== undefined) return this.say(`${this.#whoIs(worker)} ${message}`)
        if (isVerbose) this.say(this.#terminal.style('dim', `- ${who(worker)}${message}`))
      },
      warn: (details, message) => this.warn(aboutIt(details, message)),
      error: (details, message) => this.error(aboutIt(details, message)),
    }
  }

  #whoIs(worker: string | undefined): string {
    return this.#terminal.style('dim', `| ${who(worker).trimEnd()}`)
  }
}

interface Details {
  worker?: string
  err?: unknown
  stream?: string
  dashboard?: string
}

function who(worker: string | undefined): string {
  return worker === undefined ? '' : `${worker.replace(/^worker:/, '')} `
}

function aboutIt(details: object, message: string): string {
  const { worker, err } = details as Details
  return `${who(worker)}${message}${err === undefined ? '' : `: ${messageOf(err)}`}`
}
