import { rolling } from '../state/stats.ts'

/** Prefetched work, at most: enough to keep a worker busy between two transactions, little enough to be fair. */
const PREFETCH_MS = 10
/** Each exchange with a remote store costs both sides something, so fewer and larger exchanges cost less. */
const PREFETCH_REMOTE_MS = 20
/** A shorter attempt has most often ended before an exchange could record its start. */
const SHORT_MS = 20
const PREFETCH_MAX = 500
/** Items that went back unstarted were too many. A claim that brings all that was asked for allows a few more again. */
const [LESS, MORE] = [0.25, 1.1]
/** After so many early claims in a row comes one for items that can only be started, not held. */
const EARLY_MAX = 10

/** How many items does a worker hold beyond those that it can start, and when does it ask for the next ones? */
export class PrefetchPolicy {
  readonly #prefetchMs: number
  #averageMs = Number.NaN
  #betweenEndsMs = Number.NaN
  #lastEndMs = Number.NEGATIVE_INFINITY
  /** The last claim brought all that it asked for. */
  #plenty = false
  /** How many the last claim asked for. With so few left it is time to ask early: at most twice of what is held otherwise. */
  low = 0
  #most = PREFETCH_MAX
  /** Early claims in a row. */
  #early = 0

  constructor(isRemote: boolean) {
    this.#prefetchMs = isRemote ? PREFETCH_REMOTE_MS : PREFETCH_MS
  }

  /** Handlers that never wait end one after the other, whatever the concurrency: the time between two ends shows it. */
  ran(durationMs: number, endedMs: number): void {
    this.#averageMs = rolling(this.#averageMs, durationMs)
    this.#betweenEndsMs = rolling(this.#betweenEndsMs, Math.min(durationMs, endedMs - this.#lastEndMs))
    this.#lastEndMs = endedMs
  }

  /** The start of a younger attempt need not be recorded yet, because its end is near. */
  get startsWaitMs(): number {
    return this.#averageMs < SHORT_MS ? SHORT_MS : 0
  }

  /** None before the worker knows that items are short. */
  amount(concurrency: number): number {
    if (Number.isNaN(this.#averageMs)) return 0
    const eachMs = Math.max(this.#averageMs / concurrency, this.#betweenEndsMs, 0.001)
    return Math.min(this.#most, Math.round(this.#prefetchMs / eachMs))
  }

  /** `unlimited`: none of the claimed items has a limit that would keep it from being held. */
  claimed(claims: number, want: { start: number; ahead: number }, unlimited: boolean): void {
    this.#plenty = claims === want.start + want.ahead
    this.low = want.ahead
    if (this.#plenty) this.#most = Math.min(PREFETCH_MAX, Math.ceil(this.#most * MORE))
    if (want.start > 0) this.#early = 0
    else if (!unlimited) this.#early += 1
  }

  /** Some prefetched items were not started in time. */
  returned(): void {
    this.#most = Math.max(1, Math.floor(this.#most * LESS))
  }

  /** There is more, and the next claim can run beside what is prefetched. */
  asksEarly(prefetched: number, concurrency: number): boolean {
    const wanted = this.#plenty && this.#early < EARLY_MAX && this.amount(concurrency) > 0
    return wanted && prefetched > 0 && prefetched <= this.low
  }
}
