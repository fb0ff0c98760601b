import { main } from '../../src/cli/main.ts'
import type { Terminal } from '../../src/cli/terminal.ts'

export interface Said {
  code: number
  stdout: string
  stderr: string
}

/** A command as it is typed in this folder, in this process. */
export async function gleaner(cwd: string, ...args: string[]): Promise<Said> {
  const out: string[] = []
  const errors: string[] = []
  const terminal: Terminal = {
    print: (line = '') => out.push(`${line}\n`),
    complain: (line) => errors.push(`${line}\n`),
    write: (text) => out.push(text),
    style: (_format, text) => text,
    isInteractive: false,
    columns: 80,
    rows: 24,
    cwd,
    env: { PATH: process.env.PATH },
  }
  return { code: await main(args, terminal), stdout: out.join(''), stderr: errors.join('') }
}
