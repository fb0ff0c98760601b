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

  constructor(now: number = START) {
    this.#now = now
  }

  // Bound, because whoever needs only the time passes `clock.now` on by itself.
  readonly now = (): number => this.#now

  readonly monotonicMs = (): number => this.#elapsedMs

  readonly after = (ms: number, fn: () => void): (() => void) => {
    const timer: Timer = { atMs: this.#elapsedMs + Math.max(0, ms), fn }
    this.#timers.add(timer)
    return () => this.#timers.delete(timer)
  }

  /** Calls what becomes due on the way, each at its own time, also what was set meanwhile. */
  advance(ms: number): void {
    const until = this.#elapsedMs + ms
    for (let next = this.#nextBy(until); next !== undefined; next = this.#nextBy(until)) {
      this.#moveTo(next.atMs)
      this.#timers.delete(next)
      next.fn()
    }
    this.#moveTo(until)
  }

  #nextBy(until: number): Timer | undefined {
    return [...this.#timers].filter(({ atMs }) => atMs <= until).sort((a, b) => a.atMs - b.atMs)[0]
  }

  #moveTo(elapsedMs: number): void {
    this.#now += elapsedMs - this.#elapsedMs
    this.#elapsedMs = elapsedMs
  }
}
