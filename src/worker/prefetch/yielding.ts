import type { Clock } from '../../clock.ts'

/** Handlers that never wait go on for so long; then answers of the store, and sockets of the app, have their turn. */
const SLICE_MS = 0.5

/** Lets others have a turn between handlers that never wait, where the store's answers are among those others. */
export class Yielding {
  readonly #clock: Pick<Clock, 'monotonicMs'>
  readonly #startNext: () => void
  #sinceMs = Number.NEGATIVE_INFINITY
  /** Hands that are free for the next slice. */
  vacant = 0

  constructor(clock: Pick<Clock, 'monotonicMs'>, startNext: () => void) {
    this.#clock = clock
    this.#startNext = startNext
  }

  begin(): void {
    this.#sinceMs = this.#clock.monotonicMs()
  }

  isOver(nowMs: number): boolean {
    return nowMs - this.#sinceMs >= SLICE_MS
  }

  /** Defers these starts to the next macrotask. */
  startLater(inFlight = 1): void {
    const isAwaited = this.vacant > 0
    this.vacant += inFlight
    if (isAwaited || inFlight === 0) return
    setImmediate(() => {
      this.begin()
      for (let left = this.vacant; left > 0; left--) {
        this.vacant -= 1
        this.#startNext()
      }
    })
  }
}
