import { readdirSync, readFileSync } from 'node:fs'
import { until } from '../../until.ts'

/** The children of a process, whichever of its threads started them (Linux). A process that is gone has none. */
export function childrenOf(pid: number): number[] {
  try {
    const lists = readdirSync(`/proc/${pid}/task`).map((thread) =>
      readFileSync(`/proc/${pid}/task/${thread}/children`, 'utf8'),
    )
    return lists.flatMap((list) => list.trim().split(' ').filter(Boolean).map(Number))
  } catch {
    return []
  }
}

/** A process that nobody has reaped yet is gone, too. */
export function isAlive(pid: number): boolean {
  try {
    return !/^State:\s+[ZX]/m.test(readFileSync(`/proc/${pid}/status`, 'utf8'))
  } catch {
    return false
  }
}

/** True if it was there to be killed. */
export function sendSignal(pid: number, signal: NodeJS.Signals): boolean {
  try {
    return process.kill(pid, signal)
  } catch {
    return false
  }
}

export async function gone(pids: readonly number[]): Promise<void> {
  await until(`processes ${pids} are gone`, () => !pids.some(isAlive))
}
