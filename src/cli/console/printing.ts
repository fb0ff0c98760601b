import { writeExactly } from '../../exact-json.ts'
import type { Terminal } from './terminal.ts'

/** As the library and the HTTP API have it. */
export function printJson(value: unknown, terminal: Terminal): void {
  for (const line of writeExactly(value, 2).split('\n')) terminal.print(line)
}

/** The title dimmed; on a terminal no line is wider than it. */
export function printTable([title, ...lines]: readonly string[], terminal: Terminal): void {
  terminal.print(terminal.style('dim', fitting(title ?? '', terminal)))
  for (const line of lines) terminal.print(fitting(line, terminal))
}

function fitting(line: string, { isInteractive, columns }: Terminal): string {
  return isInteractive && line.length > columns ? `${line.slice(0, columns - 1)}…` : line
}
