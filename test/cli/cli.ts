import { colours, type Terminal } from '../../src/cli/console/terminal.ts'
import { main } from '../../src/cli/main.ts'

export interface Said {
  code: number
  stdout: string
  stderr: string
}

export interface Setting {
  cwd: string
  env?: NodeJS.ProcessEnv
  /** What is typed when it asks; without it, nobody can be asked. */
  answer?: string
  stdin?: string
  colours?: boolean
}

/** A command as it is typed in this folder, in this process. */
export async function gleaner(place: string | Setting, ...args: string[]): Promise<Said> {
  const { cwd, env, answer, stdin, colours: coloured } = typeof place === 'string' ? { cwd: place } : place
  const out: string[] = []
  const errors: string[] = []
  const { style, shown } = colours(coloured ?? false)
  const terminal: Terminal = {
    print: (line = '') => out.push(`${shown(line)}\n`),
    complain: (line) => errors.push(`${shown(line)}\n`),
    write: (text) => out.push(text),
    writeAside: (text) => errors.push(text),
    stream: (to) => ({
      write: (text: string) => (to === 'stdout' ? out : errors).push(text) > 0,
      writableLength: 0,
    }),
    style,
    shown,
    async ask(question) {
      errors.push(`${shown(question)}\n`)
      return answer ?? null
    },
    readAll: async () => stdin ?? '',
    isInteractive: false,
    canAsk: answer !== undefined,
    canDraw: false,
    isReadByOthers: false,
    columns: 80,
    rows: 24,
    cwd,
    env: { PATH: process.env.PATH, ...env },
  }
  return { code: await main(args, terminal), stdout: out.join(''), stderr: errors.join('') }
}
