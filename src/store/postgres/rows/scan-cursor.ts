/** Rows of one step at most, beyond those that are wanted, where an index leads to eligible ones. */
const INDEX_ROWS = 1_000
/** Where none does. */
const WINDOW_ROWS = 5_000
/** Steps of one look that find nothing: then others have their turn, and it is asked again. */
const STEPS_MAX = 20
/** What comes in at the front goes before all others for no longer than that. */
const ROUND_EVERY_MS = 1_000
/** A round of more steps than that is put off for a while, when the last one has brought nothing. */
const COSTLY_ROUND_STEPS = 5
const REST_FACTOR = 4

export interface ScanStep {
  /** Behind which place; null: from the beginning. */
  behind: string | null
  /** What was last heard of where others are: should they have gone on, behind that. Absent: wherever they are. */
  heard?: string | null
  /** Whether others are to hear of it. */
  tells: boolean
  rows: number
}

/** What a step brought. */
export interface ScannedStep {
  found: number
  /** Of the last one that was found. */
  place: string | null
  /** Of the last one that it looked at, if it found too few; null: it came to the end. */
  last: string | null
  /** Where the last large claim of anybody ended, this one included. */
  told: string | null
}

export type ScanResult =
  | 'enough'
  /** Everything there is was looked at, and nothing is free. */
  | 'over'
  | 'unfinished'

export interface ScanRequest {
  count: number
  thorough: boolean
  /** How often something was told of that may be there now. */
  wakes: number
  nowMs: () => number
}

/** From the beginning to the end, whatever the front is at. */
interface Round {
  at: string | null
  steps: number
  found: number
  beganMs: number
  wakes: number
}

/**
 * Where a store looks for the next rows of a discovery: behind the last row that it found. So what is held or kept back at the
 * head is not walked over each time, and what comes in at the end is found at once. When nothing is there it goes round from
 * the beginning, in bounded steps. Where the user gave an order, the head is looked at first: something more urgent may be there.
 */
export class ScanCursor {
  readonly #rows: number
  readonly #headFirst: boolean
  #front: string | null = null
  #heard: string | null = null
  #headIsKeptBackUntilMs = Number.NEGATIVE_INFINITY
  #round: Round | null = null
  #roundAtMs = Number.NEGATIVE_INFINITY
  #restsUntilMs = Number.NEGATIVE_INFINITY

  constructor(way: 'index' | 'window', headFirst: boolean) {
    this.#rows = way === 'index' ? INDEX_ROWS : WINDOW_ROWS
    this.#headFirst = headFirst
  }

  /** For how long the next round is put off. */
  restsMs(nowMs: number): number {
    return Math.max(0, this.#restsUntilMs - nowMs)
  }

  /** One look: step by step, each answered with what it brought. */
  *look(wish: ScanRequest): Generator<ScanStep, ScanResult, ScannedStep> {
    let left = wish.count
    const nowMs = wish.nowMs()
    if (this.#front !== null && nowMs - this.#roundAtMs > ROUND_EVERY_MS && this.restsMs(nowMs) === 0) {
      left -= (yield* this.#roundStep(wish, left, false)).found
    }
    if (left > 0) {
      const walked = yield* this.#walkFront(wish, left)
      if (walked !== 'round') return walked
      return yield* this.#walkRound(wish, left)
    }
    return 'enough'
  }

  *#walkFront(
    { thorough, wakes, nowMs }: ScanRequest,
    count: number,
  ): Generator<ScanStep, ScanResult | 'round', ScannedStep> {
    if (this.#headFirst && !thorough && nowMs() < this.#headIsKeptBackUntilMs) return 'round'
    let fromBeginning = this.#front === null
    for (let step = 0; step < STEPS_MAX || thorough; step++) {
      const behind = this.#front
      const tells = !this.#headFirst
      const { found, place, last, told } = yield {
        behind,
        heard: this.#heard,
        tells,
        rows: this.#rows + count,
      }
      if (behind !== null && told !== this.#heard) {
        // It was there that it looked, and left out what lies between.
        this.#heard = told
        fromBeginning = false
      }
      if (this.#headFirst) this.#passedHead(found, last, nowMs(), wakes)
      else this.#front = found >= count ? place : (last ?? place ?? behind)
      if (found >= count) return 'enough'
      if (found > 0) return 'unfinished'
      if (last === null) return fromBeginning ? 'over' : 'round'
      if (this.#headFirst) return 'round'
    }
    return 'unfinished'
  }

  /** The next look goes on behind it, and leaves it alone for a while. */
  #passedHead(found: number, last: string | null, nowMs: number, wakes: number): void {
    if (found > 0 || last === null) return
    this.#headIsKeptBackUntilMs = nowMs + ROUND_EVERY_MS
    this.#round ??= { at: last, steps: 1, found: 0, beganMs: nowMs, wakes }
  }

  *#walkRound(wish: ScanRequest, count: number): Generator<ScanStep, ScanResult, ScannedStep> {
    if (!wish.thorough && this.restsMs(wish.nowMs()) > 0) return 'over'
    if (wish.thorough) this.#round = null
    for (let step = 0; step < STEPS_MAX || wish.thorough; step++) {
      const { found, isOver } = yield* this.#roundStep(wish, count, !this.#headFirst)
      if (found >= count) return 'enough'
      if (found > 0) return 'unfinished'
      if (isOver) return 'over'
    }
    return 'unfinished'
  }

  *#roundStep(
    wish: ScanRequest,
    count: number,
    tells: boolean,
  ): Generator<ScanStep, { found: number; isOver: boolean }, ScannedStep> {
    this.#round ??= { at: null, steps: 0, found: 0, beganMs: wish.nowMs(), wakes: wish.wakes }
    const round = this.#round
    const { found, place, last } = yield { behind: round.at, tells, rows: this.#rows + count }
    const nowMs = wish.nowMs()
    this.#roundAtMs = nowMs
    round.at = found >= count ? place : last
    round.steps += 1
    round.found += found
    if (round.at !== null) return { found, isOver: false }
    this.#round = null
    if (round.found === 0 && round.steps > COSTLY_ROUND_STEPS) {
      this.#restsUntilMs = nowMs + (nowMs - round.beganMs) * REST_FACTOR
    }
    // What was told of since it began, or came while others were found, may lie where it had passed before.
    return { found, isOver: round.found === 0 && round.wakes === wish.wakes }
  }
}
