import { DATABASE, type DatabaseUse, type Incident, type Measured, type Readings } from './metrics.ts'

/** Cumulative, of one process. */
export interface LockCounts {
  writes: number
  busyMs: number
  waits: number
  waitedMs: number
}

/** What is written down of the time since an earlier look. Null: nothing was written. */
export function lockMeasured(now: LockCounts, before: LockCounts): Measured | null {
  const writes = now.writes - before.writes
  if (writes <= 0) return null
  const us = (what: 'busyMs' | 'waitedMs') => Math.round((now[what] - before[what]) * 1_000)
  const incidents = new Map<Incident, number>([
    ['writes', writes],
    ['busy-us', us('busyMs')],
    ['lock-waits', now.waits - before.waits],
    ['lock-wait-us', us('waitedMs')],
  ])
  const nothing = { enqueued: 0, completed: 0, failed: 0, retried: 0, durations: new Map() }
  return { queue: DATABASE, name: 'lock', ...nothing, incidents }
}

export function lockUse({ minutes, now }: Readings, since: number): Omit<DatabaseUse, 'bytes' | 'walBytes'> {
  const seconds = Math.max(now - since, 1) / 1_000
  const counted = (what: Incident) =>
    minutes
      .filter(({ queue }) => queue === DATABASE)
      .reduce((sum, { incidents }) => sum + (incidents?.get(what) ?? 0), 0)
  const waits = counted('lock-waits')
  return {
    busyShare: rounded(counted('busy-us') / 1e6 / seconds),
    writesPerSecond: rounded(counted('writes') / seconds),
    waitsPerSecond: rounded(waits / seconds),
    waitMs: waits === 0 ? null : rounded(counted('lock-wait-us') / 1_000 / waits),
  }
}

function rounded(number: number): number {
  return Number(number.toPrecision(4))
}

/** Measured: see decision 69. */
const BUSY_SHARE_MAX = 0.5
const WAIT_MS_MAX = 20
const WAITS_PER_SECOND_MIN = 1

/** Why a server would serve this load better. Null: SQLite does it well. */
export function outgrown({
  busyShare,
  waitsPerSecond,
  waitMs,
}: Omit<DatabaseUse, 'bytes' | 'walBytes'>): string | null {
  if (busyShare >= BUSY_SHARE_MAX)
    return `processes held its write lock ${Math.round(busyShare * 100)} % of the last hour`
  if (waitMs !== null && waitMs >= WAIT_MS_MAX && waitsPerSecond >= WAITS_PER_SECOND_MIN)
    return `processes waited ${Math.round(waitMs)} ms for its write lock, ${waitsPerSecond} times a second, in the last hour`
  return null
}
