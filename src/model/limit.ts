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
  /** Without room: when the rate lets the next one through. Null: when somebody ends. */
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

/** Those that began now are counted for as long as the rate's window lasts. */
export function withStarts(starts: Starts, rate: Rate | null, now: number, count: number): Starts {
  if (rate === null) return []
  const counted = recent(starts, rate, now)
  const last = counted.at(-1)
  // By the last start of its slice, or what is together would be let go too early.
  if (last === undefined || sliceOf(last[0], rate) !== sliceOf(now, rate)) return [...counted, [now, count]]
  return [...counted.slice(0, -1), [Math.max(now, last[0]), last[1] + count]]
}

/** This moment, or that of the last start, should somebody have counted a later one already. */
export function latestOf(starts: Starts, rate: Rate, now: number): number {
  return Math.max(now, ...recent(starts, rate, now).map(([lastAt]) => lastAt))
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
