import {
  type Admission,
  admission,
  areOver,
  type Limit,
  latestOf,
  readStarts,
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

/** What a limit counts, as it stands while nobody else can change it. Whoever lets something through writes it down. */
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
    return this.#limit.rate === null ? this.admission(now).room : 0
  }

  /** Not before the last start it has counted: who asked the time first may be the second to get here. */
  momentOf(now: number): number {
    const { rate } = this.#limit
    return rate === null ? now : latestOf(this.#starts, rate, now)
  }

  /** Nothing of what it counted would be missed. */
  isIdle(now: number): boolean {
    return this.#held === 0 && areOver(this.#starts, this.#limit.rate, now)
  }

  /** What was promised is held from now on. */
  enter(count: number, now: number): void {
    this.#held += count
    this.#starts = withStarts(this.#starts, this.#limit.rate, now, count)
    this.promised = 0
  }

  get columns(): [id: number, held: number, starts: string] {
    return [this.id, this.#held, writeStarts(this.#starts)]
  }
}
