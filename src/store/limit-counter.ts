import {
  type Admission,
  admission,
  areOver,
  LATE_START_MS,
  type Limit,
  readStarts,
  roomToPrefetch,
  type Starts,
  withStarts,
  writeStarts,
} from '../model/limit.ts'

/** A gate's row, in either store. */
export interface LimitCounterRow {
  id: number
  limit_scope: string
  held: number
  starts: string
}

/** The use of a limit, read under its lock. A claim that lets tasks through writes it back. */
export class LimitCounter {
  readonly id: number
  readonly #limit: Limit
  #held: number
  #starts: Starts
  /** What is about to be let through. */
  promised = 0

  constructor(row: LimitCounterRow, limits: { of(scope: string): Limit }) {
    this.id = row.id
    this.#limit = limits.of(row.limit_scope)
    this.#held = row.held
    this.#starts = readStarts(row.starts)
  }

  admission(now: number): Admission {
    return admission(this.#limit, this.#held, this.#starts, now)
  }

  /** How many more may be promised. */
  room(now: number): number {
    return this.admission(now).room - this.promised
  }

  /** How many may be held although they do not start yet. */
  roomToPrefetch(now: number): number {
    return roomToPrefetch(this.#limit, this.#held, this.#starts, now)
  }

  /** It counts starts. */
  get isRate(): boolean {
    return this.#limit.rate !== null
  }

  /** Nothing of what it counted would be missed. */
  isIdle(now: number): boolean {
    return this.#held === 0 && areOver(this.#starts, this.#limit.rate, now)
  }

  /** What was promised is held from now on. */
  enter(starting: number, prefetched: number, now: number): void {
    const { rate } = this.#limit
    this.#held += starting + prefetched
    if (starting > 0) this.#starts = withStarts(this.#starts, rate, now, { count: starting })
    if (prefetched > 0)
      this.#starts = withStarts(this.#starts, rate, now, { count: prefetched, lateMs: LATE_START_MS })
    this.promised = 0
  }

  get columns(): [id: number, held: number, starts: string] {
    return [this.id, this.#held, writeStarts(this.#starts)]
  }
}

/** Items are let through by their limits: the first `start` of them start now, the others are prefetched. */
export function enterAll(
  limitsOf: readonly (readonly LimitCounter[])[],
  start: number,
  now: number,
): LimitCounter[] {
  const entering = new Map<LimitCounter, [starting: number, prefetched: number]>()
  for (const [position, counters] of limitsOf.entries())
    for (const counter of counters) {
      const counts = entering.get(counter) ?? [0, 0]
      counts[position < start ? 0 : 1] += 1
      entering.set(counter, counts)
    }
  for (const [counter, [starting, prefetched]] of entering) counter.enter(starting, prefetched, now)
  return [...entering.keys()]
}
