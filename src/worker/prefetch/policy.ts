import { rolling } from '../state/stats.ts'

/** Held ahead, at most: enough to keep a worker busy between two transactions, little enough to be fair. */
const AHEAD_MS = 10
/** A store that works elsewhere costs both sides something for each exchange: fewer and larger ones cost less. */
const AHEAD_REMOTE_MS = 20
/** What takes less has most often ended before the start of it could be written down. */
const SHORT_MS = 20
const AHEAD_MAX = 500
/** What went back unstarted was too much. A claim that brings all that was asked for allows a little more again. */
const [LESS, MORE] = [0.25, 1.1]

/** Claims in a row that bring nothing to be started at once: what may only be started, not held, has its turn then. */
const EARLY_MAX = 10

const IDLE_FACTOR = 1.5

export interface PollTimings {
  idleMinMs: number
  idleMaxMs: number
  /** How soon a cancel is noticed should its wake-up be lost. */
  pollMs: number
}

/** How much a worker takes at a time, and how long it rests when there is nothing. */
export class PrefetchPolicy {
  readonly #options: PollTimings
  readonly #aheadMs: number
  #averageMs = Number.NaN
  #betweenEndsMs = Number.NaN
  #lastEndMs = Number.NEGATIVE_INFINITY
  #idleMs: number
  /** The last claim got all that it asked for. */
  #plenty = false
  #asked = 0
  #mostAhead = AHEAD_MAX
  /** Early claims in a row. */
  #early = 0

  constructor(options: PollTimings, isRemote: boolean) {
    this.#options = options
    this.#aheadMs = isRemote ? AHEAD_REMOTE_MS : AHEAD_MS
    this.#idleMs = options.idleMinMs
  }

  /** Handlers that never wait end one after the other, whatever the concurrency: the time between two ends says so. */
  ran(durationMs: number, endedMs: number): void {
    this.#averageMs = rolling(this.#averageMs, durationMs)
    this.#betweenEndsMs = rolling(this.#betweenEndsMs, Math.min(durationMs, endedMs - this.#lastEndMs))
    this.#lastEndMs = endedMs
  }

  /** A start that is younger than that need not be written down yet: its end will be soon. */
  get startsWaitMs(): number {
    return this.#averageMs < SHORT_MS ? SHORT_MS : 0
  }

  /** Items to hold beyond those that can be started: none before we know that they are short. */
  aheadFor(concurrency: number): number {
    if (Number.isNaN(this.#averageMs)) return 0
    const eachMs = Math.max(this.#averageMs / concurrency, this.#betweenEndsMs, 0.001)
    return Math.min(this.#mostAhead, Math.round(this.#aheadMs / eachMs))
  }

  /** What a claim brought. */
  got(claims: number, want: { start: number; ahead: number }, unlimited: boolean): void {
    this.#plenty = claims === want.start + want.ahead
    this.#asked = want.ahead
    if (this.#plenty) this.#mostAhead = Math.min(AHEAD_MAX, Math.ceil(this.#mostAhead * MORE))
    if (want.start > 0) this.#early = 0
    else if (!unlimited) this.#early += 1
  }

  /** Of what was held ahead, some was not started in time. */
  gaveBack(): void {
    this.#mostAhead = Math.max(1, Math.floor(this.#mostAhead * LESS))
  }

  /** With so few left ahead it is time to ask early: twice of what is held otherwise, at most. */
  get low(): number {
    return this.#asked
  }

  /** There is more, and it can be fetched while what is ahead is run. */
  asksEarly(ahead: number, concurrency: number): boolean {
    const wanted = this.#plenty && this.#early < EARLY_MAX && this.aheadFor(concurrency) > 0
    return wanted && ahead > 0 && ahead <= this.low
  }

  /** Something came: look again soon. */
  awake(): void {
    this.#idleMs = this.#options.idleMinMs
  }

  /** The fallback should every wake-up be lost: longer each time while there is nothing to do. */
  nextLookMs(isBusy: boolean): number {
    if (isBusy) return this.#options.pollMs
    const idleMs = this.#idleMs
    this.#idleMs = Math.min(this.#idleMs * IDLE_FACTOR, this.#options.idleMaxMs)
    return idleMs
  }
}
