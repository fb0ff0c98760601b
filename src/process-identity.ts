import { execFileSync } from 'node:child_process'
import { readFileSync, readlinkSync } from 'node:fs'
import { hostname } from 'node:os'

/** Which process this is. Boot, pid and start time together name one process forever; the host is for people. */
export interface ProcessIdentity {
  host: string
  /** This boot of this machine and, on Linux, this process namespace: within it, pids mean the same. */
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

/** Where the processes of one database may run. */
interface Reach {
  /** On several machines; otherwise one file is all they share, and its machine is ours. */
  readonly remote: boolean
}

/**
 * Whether this process is gone for certain; if in doubt, its lease decides. Only a process in the same process namespace of
 * the same boot can see it. A host name proves nothing: containers and cloned machines may share it.
 */
export function isProvedDead(identity: ProcessIdentity, { remote }: Reach): boolean {
  const boot = bootId()
  if (identity.boot === boot && boot !== UNKNOWN) return hasEnded(identity)
  if (remote || identity.host !== hostname()) return false
  // Two processes use one file only on one machine, so that another boot of it is over.
  if (identity.boot !== UNKNOWN && boot !== UNKNOWN) return kernelOf(identity.boot) !== kernelOf(boot)
  // Elsewhere than on Linux every process is visible.
  return process.platform !== 'linux' && hasEnded(identity)
}

/** In a place whose processes this one can see. */
export function isInSight({ boot }: ProcessIdentity): boolean {
  return boot === bootId() && boot !== UNKNOWN
}

function hasEnded({ pid, startTime }: ProcessIdentity): boolean {
  if (!isRunning(pid)) return true
  const now = startTimeOf(pid)
  // The pid is in use again, by another process.
  return now !== null && startTime !== null && now !== startTime
}

function kernelOf(boot: string): string {
  return boot.split('/')[0]!
}

export function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return (error as NodeJS.ErrnoException).code !== 'ESRCH'
  }
}

const UNKNOWN = 'unknown'

/** They stay the same for as long as this process lives, and are asked for all the time. */
let ownBoot: string | undefined
let showsStartTimes: boolean | undefined

function bootId(): string {
  ownBoot ??= attempt(process.platform === 'darwin' ? bootOfMac : bootOfLinux, UNKNOWN)
  return ownBoot
}

function bootOfLinux(): string {
  return `${readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim()}/${readlinkSync('/proc/self/ns/pid')}`
}

/** It has no process namespaces. */
function bootOfMac(): string {
  const id = execFileSync('/usr/sbin/sysctl', ['-n', 'kern.bootsessionuuid'], { encoding: 'utf8' }).trim()
  return id === '' ? UNKNOWN : `${id}/macos`
}

/** Field 22 of /proc/<pid>/stat; the name in field 2 may hold spaces and brackets. A zombie has ended. */
function startTimeOf(pid: number): string | null {
  showsStartTimes ??= attempt(procIsOurs, false)
  if (!showsStartTimes) return null
  return attempt(() => {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
    return fields[0] === 'Z' ? 'ended' : (fields[19] ?? null)
  }, null)
}

/** A /proc of another process namespace shows other processes under the same pids. */
function procIsOurs(): boolean {
  return readlinkSync('/proc/self') === String(process.pid)
}

function attempt<T>(read: () => T, otherwise: T): T {
  try {
    return read()
  } catch {
    return otherwise
  }
}
