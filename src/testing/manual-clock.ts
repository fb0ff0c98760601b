import type { Clock } from '../clock.ts'

interface Timer {
  atMs: number
  fn: () => void
}

/** A date that is easy to recognise in a failing test. */
const START = Date.UTC(2030, 0, 1)

/** Time stands still until the test moves it. */
export class ManualClock implements Clock {
  #now: number
  #elapsedMs = 0
  readonly #timers = new Set<Timer>()
  readonly #onTimer: () => void

  /** `onTimer` is told of every new timer. */
  constructor(now: number = START, onTimer: () => void = () => {}) {
    this.#now = now
    this.#onTimer = onTimer
  }

  // Bound, because whoever needs only the time passes `clock.now` on by itself.
  readonly now = (): number => this.#now

  readonly monotonicMs = (): number => this.#elapsedMs

  readonly after = (ms: number, fn: () => void): (() => void) => {
    const timer: Timer = { atMs: this.#elapsedMs + Math.max(0, ms), fn }
    this.#timers.add(timer)
    this.#onTimer()
    return () => this.#timers.delete(timer)
  }

  readonly afterIfAlive = this.after

  /** Calls what becomes due on the way, each at its own time, also what was set meanwhile. */
  advance(ms: number): void {
    const untilMs = this.#elapsedMs + ms
    while (this.step(untilMs)) {}
    this.moveTo(untilMs)
  }

  /** Moves to the next timer and calls it. False: there is none until then, and time has not moved. */
  step(untilMs: number): boolean {
    const next = this.#nextBy(untilMs)
    if (next === undefined) return false
    this.moveTo(next.atMs)
    this.#timers.delete(next)
    next.fn()
    return true
  }

  /** Without calling anything. */
  moveTo(elapsedMs: number): void {
    this.#now += elapsedMs - this.#elapsedMs
    this.#elapsedMs = elapsedMs
  }

  /** Of those at the same time the one that was set first. */
  #nextBy(untilMs: number): Timer | undefined {
    let next: Timer | undefined
    for (const timer of this.#timers) {
      if (timer.atMs <= untilMs && (next === undefined || timer.atMs < next.atMs)) next = timer
    }
    return next
  }
}
