import { readdirSync, readFileSync } from 'node:fs'

const TICKS_PER_SECOND = 100

interface Stat {
  parent: number
  ownTicks: number
  /** Of the children it has waited for. */
  reapedTicks: number
}

/** What a server process and its children, living and ended, have used of the processor so far. Linux only. */
export function processorMs(pid: number): number {
  const server = statOf(pid)
  if (server === undefined) return 0
  let ticks = server.ownTicks + server.reapedTicks
  for (const entry of readdirSync('/proc')) {
    const stat = /^\d+$/.test(entry) ? statOf(Number(entry)) : undefined
    if (stat?.parent === pid) ticks += stat.ownTicks + stat.reapedTicks
  }
  return (ticks / TICKS_PER_SECOND) * 1000
}

/** Undefined when the process is gone. */
function statOf(pid: number): Stat | undefined {
  let text: string
  try {
    text = readFileSync(`/proc/${pid}/stat`, 'utf8')
  } catch {
    return undefined
  }
  // The name in parentheses may contain anything.
  const fields = text.slice(text.lastIndexOf(')') + 2).split(' ')
  const number = (index: number) => Number(fields[index])
  return { parent: number(1), ownTicks: number(11) + number(12), reapedTicks: number(13) + number(14) }
}
