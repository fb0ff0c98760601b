/** How many items of a queue, or of one key of a task, may run at the same time, and how often one may start. */
export interface Limit {
  /** Null: no limit. */
  concurrency: number | null
  /** Null: no limit. */
  rate: Rate | null
}

/** Never more than `count` starts within any `perMs`. */
export interface Rate {
  /** How many may start. */
  count: number
  /** In which period. */
  perMs: number
}

/** What a limit is for: a queue, or each key of a task's. */
export type LimitScope = { queue: string } | { task: string }

/** A limit as the code has it; null: there is none (any more). */
export type PlannedLimit = LimitScope & { limit: Limit | null }

/** How a scope is written down: names hold no slash. */
export function scopeWords(scope: LimitScope): string {
  return 'queue' in scope ? `queue/${scope.queue}` : `task/${scope.task}`
}

export const UNLIMITED: Limit = { concurrency: null, rate: null }

export function isSameLimit(a: Limit | null, b: Limit | null): boolean {
  const { concurrency, rate } = a ?? UNLIMITED
  const other = b ?? UNLIMITED
  return (
    concurrency === other.concurrency &&
    rate?.count === other.rate?.count &&
    rate?.perMs === other.rate?.perMs
  )
}

/** The starts that a rate still has to count, oldest first: those of one moment, or of a slice of the time, together. */
export type Starts = readonly (readonly [lastAt: number, count: number])[]

/** A window is counted in so many slices: more are exacter, and longer to write down. */
const SLICES = 100

/** What a limit lets through now. */
export interface Admission {
  /** How many may start; Infinity where nothing limits them. */
  room: number
  /** Without room: when the rate lets the next one through. Null: when a running one ends. */
  opensAt: number | null
}

export function admission(
  { concurrency, rate }: Limit,
  held: number,
  starts: Starts,
  now: number,
): Admission {
  const free = concurrency === null ? Number.POSITIVE_INFINITY : Math.max(0, concurrency - held)
  if (rate === null || free === 0) return { room: free, opensAt: null }
  const counted = recent(starts, rate, now)
  const left = rate.count - sum(counted)
  if (left > 0) return { room: Math.min(free, left), opensAt: null }
  return { room: 0, opensAt: opening(counted, rate) }
}

/** When so many of the oldest are out of the window that one more fits in. */
function opening(counted: Starts, { count, perMs }: Rate): number {
  let left = sum(counted)
  for (const [lastAt, n] of counted) {
    left -= n
    if (left < count) return lastAt + perMs
  }
  throw new Error('a rate lets something through when nothing is counted')
}

/** A task that is prefetched under a rate starts within that time, or goes back. */
export const LATE_START_MS = 100

/** A window that is that much longer notices nothing of late starts. */
const LATE_STARTS_PER_WINDOW = 10

/** Less of a rate than this share may be prefetched: near its number, it lets through what starts at once, and exactly as much. */
const PREFETCHED_SHARE = 0.1

/** How many may be held although they do not start yet. */
export function roomToPrefetch(limit: Limit, held: number, starts: Starts, now: number): number {
  const { rate } = limit
  const { room } = admission(limit, held, starts, now)
  if (rate === null) return room
  if (rate.perMs < LATE_STARTS_PER_WINDOW * LATE_START_MS) return 0
  return Math.max(
    0,
    Math.min(room, Math.floor(rate.count * PREFETCHED_SHARE) - sum(recent(starts, rate, now))),
  )
}

/** Those that begin now, or `lateMs` later at the latest, are counted for as long as the rate's window lasts from then on. */
export function withStarts(
  starts: Starts,
  rate: Rate | null,
  now: number,
  { count, lateMs = 0 }: { count: number; lateMs?: number },
): Starts {
  if (rate === null) return []
  const counted = recent(starts, rate, now)
  const at = now + lateMs
  const later = counted.filter(([lastAt]) => lastAt > at && sliceOf(lastAt, rate) !== sliceOf(at, rate))
  const before = counted.slice(0, counted.length - later.length)
  const last = before.at(-1)
  // By the last start of its slice, or what is together would be let go too early.
  if (last === undefined || sliceOf(last[0], rate) !== sliceOf(at, rate))
    return [...before, [at, count], ...later]
  return [...before.slice(0, -1), [Math.max(at, last[0]), last[1] + count], ...later]
}

/** Whether a window has nothing left to count. */
export function areOver(starts: Starts, rate: Rate | null, now: number): boolean {
  return rate === null || recent(starts, rate, now).length === 0
}

/** What lies in the future by more than a window was written before the clock was set back, and would never end. */
function recent(starts: Starts, { perMs }: Rate, now: number): Starts {
  return starts.filter(([lastAt]) => lastAt + perMs > now && lastAt <= now + perMs)
}

function sliceOf(at: number, { perMs }: Rate): number {
  return Math.floor(at / Math.max(1, perMs / SLICES))
}

function sum(starts: Starts): number {
  return starts.reduce((total, [, count]) => total + count, 0)
}

/** As a column holds it; '' for none. */
export function writeStarts(starts: Starts): string {
  return starts.length === 0 ? '' : JSON.stringify(starts)
}

export function readStarts(words: string): Starts {
  return words === '' ? [] : (JSON.parse(words) as Starts)
}

/** The limits of a task, as they are now. `explain` shows them. */
export interface LimitState {
  /** What it limits. */
  scope: LimitScope
  /** The key, where it is the limit of one. */
  key: string | null
  /** The limit itself. */
  limit: Limit
  /** How many run now. */
  held: number
  /** How many more may start now. */
  room: number
  /** When the next may start. Null: now, or when one ends. */
  opensInMs: number | null
  /** Some of the tasks that hold it. */
  holders: string[]
}
