import type { Clock } from '../clock.ts'

/** One timer for all runs: it goes off at the earliest deadline there was, and is set anew by whoever looks then. */
export class Deadline {
  readonly #clock: Clock
  readonly #onReached: (nowMs: number) => void
  #atMs = Number.POSITIVE_INFINITY
  #cancel: (() => void) | undefined

  constructor(clock: Clock, onReached: (nowMs: number) => void) {
    this.#clock = clock
    this.#onReached = onReached
  }

  arm(atMs: number): void {
    if (atMs >= this.#atMs) return
    this.#cancel?.()
    this.#atMs = atMs
    this.#cancel = this.#clock.after(atMs - this.#clock.monotonicMs(), () => {
      this.#atMs = Number.POSITIVE_INFINITY
      this.#onReached(this.#clock.monotonicMs())
    })
  }

  cancel(): void {
    this.#cancel?.()
  }
}
