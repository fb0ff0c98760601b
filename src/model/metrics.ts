import type { FailureKind } from '../errors.ts'
import { addTo, type Histogram, percentileMs } from './histogram.ts'
import type { EndCause } from './session.ts'

export const MINUTE_MS = 60_000

/** Stands for a queue where rows are counted, by the name of their discovery. No queue can be called so. */
export const ROWS = ':rows'

/**
 * Stands for a queue where it is counted what happened to workers, in `incidents`: what they claimed, by `tasks` and `rows`, and how many
 * were lost, by the cause.
 */
export const WORKERS = ':workers'

/** Stands for a queue where it is counted, in `incidents`, what the processes did with the write lock of the database file. */
export const DATABASE = ':database'

/** Of those that stand for a queue, none is one. */
export function isQueue(queue: string): boolean {
  return !queue.startsWith(':')
}

/** What happened to the tasks of one name in one queue, in one minute or since the counters were last written. */
export interface Measured {
  queue: string
  name: string
  enqueued: number
  completed: number
  /** Tasks that failed for good. */
  failed: number
  /** Attempts that failed and are followed by another attempt. */
  retried: number
  durations: Histogram
  /** How often each kind of problem happened. Omitted when none did. */
  incidents?: ReadonlyMap<Incident, number>
}

/**
 * Why an attempt failed. `fenced`: writes that were refused because the worker had lost its claim. About workers: `claims`, items claimed;
 * `conflicts`, items that another worker claimed first; `lost`, workers that were gone; `rescued`, items of lost workers that went back.
 */
export type Incident = FailureKind | 'fenced' | 'claims' | 'conflicts' | 'lost' | 'rescued' | LockIncident
/** Microseconds, where the name says so. */
type LockIncident = 'writes' | 'busy-us' | 'lock-waits' | 'lock-wait-us'

/** How many items were taken back from a worker that was gone. */
export function rescue(cause: EndCause, items: number): Measured {
  const incidents = new Map<Incident, number>([
    ['lost', 1],
    ['rescued', items],
  ])
  return { ...nothing(WORKERS, cause), incidents }
}

/** An attempt that somebody else says failed: its own process could not. Without a queue it was at a row. */
export function failedAttempt(
  { queue, name }: { queue: string | null; name: string },
  kind: FailureKind,
  isFinal: boolean,
): Measured {
  const counts = isFinal ? { failed: 1 } : { retried: 1 }
  return { ...nothing(queue ?? ROWS, name), ...counts, incidents: new Map([[kind, 1]]) }
}

function nothing(queue: string, name: string): Measured {
  return { queue, name, enqueued: 0, completed: 0, failed: 0, retried: 0, durations: new Map() }
}

/** The unfinished tasks of one name in one queue. */
export interface Present {
  queue: string
  name: string
  scheduled: number
  queued: number
  running: number
  suspended: number
  /** When the longest waiting task began to wait. */
  waitingSince: number | null
}

export interface Readings {
  now: number
  present: readonly Present[]
  minutes: readonly (Measured & { minute: number })[]
}

/** How much waits, how much was done, and how long it took. */
export interface Gauges {
  /** Unfinished tasks, as of now. */
  depth: { scheduled: number; queued: number; running: number; suspended: number }
  /** How long the longest waiting task has waited. Null when no task waits. */
  oldestWaitingMs: number | null
  /** Rates over the window. */
  perMinute: { enqueued: number; completed: number; failed: number; retried: number }
  /** The share of attempts that failed, from 0 to 1. Null when there was no attempt. */
  errorRate: number | null
  /** The durations of attempts in ms, exact to 5 %. Null when there was no attempt. */
  durationMs: { p50: number; p95: number; p99: number } | null
}

/** What the processes did with the write lock of a SQLite file: only one of them can write at a time. */
export interface DatabaseUse {
  /** The size of the file. */
  bytes: number
  /** The size of its write-ahead log. */
  walBytes: number
  /** The share of the time in which a process held the write lock, from 0 to 1. */
  busyShare: number
  /** Write transactions, of all processes. */
  writesPerSecond: number
  /** How often a process had to wait for the lock. */
  waitsPerSecond: number
  /** How long such a wait took. Null: there was none. */
  waitMs: number | null
}

/** Depth, rates, errors and durations: in total, per queue and per task. */
export interface Metrics extends Gauges {
  /** How busy the SQLite file is. Null on PostgreSQL, which many processes write at the same time. */
  database: DatabaseUse | null
  /** When it was read, in milliseconds since 1970. */
  asOf: number
  /** Rates, error rate and durations cover the time from here until now: whole minutes, except for the last. */
  since: number
  /** The same for each queue. */
  queues: (Gauges & { queue: string })[]
  /** The same for each task. */
  tasks: (Gauges & { queue: string; name: string })[]
  /** Rows that were done. They are not part of the other numbers. `discoveries.stats` returns how many rows wait. */
  discoveries: (Omit<Gauges, 'depth' | 'oldestWaitingMs'> & { name: string })[]
  /** Each minute since then, for all tasks. A minute without any event has no entry. */
  minutes: { minute: number; enqueued: number; completed: number; failed: number; retried: number }[]
}

export function minuteOf(now: number): number {
  return Math.floor(now / MINUTE_MS) * MINUTE_MS
}

/** The first minute of a window that ends now. */
export function firstMinute(now: number, windowMs: number): number {
  return minuteOf(now - windowMs) + MINUTE_MS
}

export function summarise(
  { now, present, minutes: all }: Readings,
  since: number,
): Omit<Metrics, 'database'> {
  const minutes = all.filter(({ queue }) => isQueue(queue))
  const rows = all.filter(({ queue }) => queue === ROWS)
  const gauges = <P extends Present, M extends Measured>(there: readonly P[], then: readonly M[]) =>
    gaugesOf(there, then, now, since)
  const queues = distinct([...present, ...minutes].map(({ queue }) => [queue]))
  const tasks = distinct([...present, ...minutes].map(({ queue, name }) => [queue, name]))
  return {
    asOf: now,
    since,
    ...gauges(present, minutes),
    queues: queues.map(([queue]) => ({
      queue: queue!,
      ...gauges(
        present.filter((one) => one.queue === queue),
        minutes.filter((one) => one.queue === queue),
      ),
    })),
    tasks: tasks.map(([queue, name]) => ({
      queue: queue!,
      name: name!,
      ...gauges(
        present.filter((one) => one.queue === queue && one.name === name),
        minutes.filter((one) => one.queue === queue && one.name === name),
      ),
    })),
    discoveries: [...Map.groupBy(rows, ({ name }) => name)]
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([name, then]) => {
        const { depth: _depth, oldestWaitingMs: _oldest, ...done } = gauges([], then)
        return { name, ...done }
      }),
    minutes: [...Map.groupBy(minutes, ({ minute }) => minute)]
      .sort(([a], [b]) => a - b)
      .map(([minute, measured]) => ({ minute, ...sumOf(measured) })),
  }
}

function gaugesOf(
  present: readonly Present[],
  measured: readonly Measured[],
  now: number,
  since: number,
): Gauges {
  const { enqueued, completed, failed, retried } = sumOf(measured)
  const inMinutes = Math.max(now - since, 1) / MINUTE_MS
  const perMinute = (count: number) => Number((count / inMinutes).toPrecision(4))
  const attempts = completed + failed + retried
  return {
    depth: {
      scheduled: total(present, 'scheduled'),
      queued: total(present, 'queued'),
      running: total(present, 'running'),
      suspended: total(present, 'suspended'),
    },
    oldestWaitingMs: oldestMs(present, now),
    perMinute: {
      enqueued: perMinute(enqueued),
      completed: perMinute(completed),
      failed: perMinute(failed),
      retried: perMinute(retried),
    },
    errorRate: attempts === 0 ? null : (failed + retried) / attempts,
    durationMs: percentiles(measured),
  }
}

function oldestMs(present: readonly Present[], now: number): number | null {
  const since = present.map((one) => one.waitingSince).filter((at) => at !== null)
  return since.length === 0 ? null : Math.max(0, now - Math.min(...since))
}

function percentiles(measured: readonly Measured[]): Gauges['durationMs'] {
  const all: Histogram = new Map()
  for (const { durations } of measured) addTo(all, durations)
  const p50 = percentileMs(all, 0.5)
  return p50 === null ? null : { p50, p95: percentileMs(all, 0.95)!, p99: percentileMs(all, 0.99)! }
}

function sumOf(measured: readonly Measured[]) {
  return {
    enqueued: total(measured, 'enqueued'),
    completed: total(measured, 'completed'),
    failed: total(measured, 'failed'),
    retried: total(measured, 'retried'),
  }
}

function total<K extends string>(rows: readonly Record<K, number>[], counter: K): number {
  return rows.reduce((sum, row) => sum + row[counter], 0)
}

/** In order; names hold no slash. */
function distinct(parts: readonly string[][]): string[][] {
  return [...new Set(parts.map((part) => part.join('/')))].sort().map((joined) => joined.split('/'))
}
