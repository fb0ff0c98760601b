import { readdirSync, readFileSync } from 'node:fs'
import { isRunning } from '../process-identity.ts'

/**
 * A process leaves its group with setsid, and its parent by forking twice; its environment it takes along. So every
 * process that we start has a value of its own there, by which we find what it has started: on Linux, among the processes
 * of our user. Elsewhere, and behind `env -i`, nothing is found.
 */
type Mark = 'GLEANER_PROCESS' | 'GLEANER_PROGRAM'

export interface Descendant {
  pid: number
  /** The name of its program. */
  name: string
}

/** A killed process may have forked just before: so often we look again. */
const LOOKS_MAX = 10

export function marked(mark: Mark, value: string): NodeJS.ProcessEnv {
  return { [mark]: value }
}

/** Those that run now and were started by the process with this mark, itself included. */
export function descendants(mark: Mark, value: string): Descendant[] {
  const wanted = Buffer.from(`${mark}=${value}\0`)
  return pids().flatMap((pid) => {
    const environment = read(`/proc/${pid}/environ`)
    // A zombie has no environment any more.
    return pid !== process.pid && environment?.includes(wanted) ? [{ pid, name: nameOf(pid) }] : []
  })
}

/** What they hold in memory, in bytes. Null: none of them was found, as on systems without /proc. */
export function memoryOf(mark: Mark, value: string): number | null {
  const found = descendants(mark, value)
  if (found.length === 0) return null
  return found.reduce((sum, { pid }) => sum + residentBytes(pid), 0)
}

function residentBytes(pid: number): number {
  const kilobytes = /^VmRSS:\s+(\d+) kB$/m.exec(read(`/proc/${pid}/status`)?.toString() ?? '')
  return kilobytes === null ? 0 : Number(kilobytes[1]) * 1024
}

/** Kills all of them, also those that they start meanwhile. `left`: those that cannot be killed. */
export function killDescendants(mark: Mark, value: string): { killed: Descendant[]; left: Descendant[] } {
  const killed = new Map<number, Descendant>()
  const left = new Map<number, Descendant>()
  for (let look = 0; look < LOOKS_MAX; look++) {
    const found = descendants(mark, value).filter(({ pid }) => !killed.has(pid) && !left.has(pid))
    if (found.length === 0) break
    for (const one of found) (kill(one.pid) ? killed : left).set(one.pid, one)
  }
  return { killed: [...killed.values()], left: [...left.values()] }
}

/** For people. */
export function listed(some: readonly Descendant[]): string {
  return some.map(({ pid, name }) => `${pid} (${name})`).join(', ')
}

function pids(): number[] {
  try {
    return readdirSync('/proc').map(Number).filter(Number.isInteger)
  } catch {
    return []
  }
}

function kill(pid: number): boolean {
  try {
    process.kill(pid, 'SIGKILL')
    return true
  } catch {
    return !isRunning(pid)
  }
}

function nameOf(pid: number): string {
  return read(`/proc/${pid}/comm`)?.toString().trim() || '?'
}

/** Undefined: it is gone, or belongs to another user. */
function read(path: string): Buffer | undefined {
  try {
    return readFileSync(path)
  } catch {
    return undefined
  }
}
