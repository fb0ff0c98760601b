import { readFileSync, readlinkSync } from 'node:fs'
import { hostname } from 'node:os'

/** Which process this is. All four together name one process for ever. */
export interface ProcessIdentity {
  host: string
  /** This boot of this machine (and, in a container, this process namespace). */
  boot: string
  pid: number
  /** When the process started, in the kernel's own count; null where the system does not tell. */
  startTime: string | null
}

export function identifySelf(): ProcessIdentity {
  return identify(process.pid)
}

/** Of a process on this machine that runs now. */
export function identify(pid: number): ProcessIdentity {
  return { host: hostname(), boot: bootId(), pid, startTime: startTimeOf(pid) }
}

export function isSameProcess(a: ProcessIdentity, b: ProcessIdentity): boolean {
  return a.host === b.host && a.boot === b.boot && a.pid === b.pid && a.startTime === b.startTime
}

/**
 * Whether it is proved that this process is gone. False when in doubt: another host, another boot seen
 * from a container, a system that does not tell start times. A lease decides then.
 */
export function isProvedDead(identity: ProcessIdentity): boolean {
  if (identity.host !== hostname()) return false
  if (identity.boot !== bootId()) return sameMachineRebooted(identity.boot)
  if (!isRunning(identity.pid)) return true
  const startTime = startTimeOf(identity.pid)
  // The pid is in use again, by another process.
  return startTime !== null && identity.startTime !== null && startTime !== identity.startTime
}

/** The same process namespace under another boot id: the machine was restarted since. */
function sameMachineRebooted(boot: string): boolean {
  const [id, namespace] = boot.split('/')
  const [ownId, ownNamespace] = bootId().split('/')
  return id !== ownId && namespace === ownNamespace && namespace !== undefined
}

export function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return (error as NodeJS.ErrnoException).code !== 'ESRCH'
  }
}

/** It stays the same for as long as this process lives, and is asked for all the time. */
let ownBoot: string | undefined

function bootId(): string {
  ownBoot ??= attempt(
    () =>
      `${readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim()}/${readlinkSync('/proc/self/ns/pid')}`,
    'unknown',
  )
  return ownBoot
}

/** Field 22 of /proc/<pid>/stat; the name in field 2 may hold spaces and brackets. A zombie has ended. */
function startTimeOf(pid: number): string | null {
  return attempt(() => {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
    return fields[0] === 'Z' ? 'ended' : (fields[19] ?? null)
  }, null)
}

function attempt<T>(read: () => T, otherwise: T): T {
  try {
    return read()
  } catch {
    return otherwise
  }
}
