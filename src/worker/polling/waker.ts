import type { Clock } from '../../clock.ts'

/** Lets the loop rest until somebody nudges it. A nudge that comes while it works is not lost. */
export class Waker {
  readonly #clock: Clock
  #nudged = false
  #hurried = false
  #wake: (() => void) | undefined

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** It waits, and nobody has nudged it. */
  get isResting(): boolean {
    return this.#wake !== undefined && !this.#nudged
  }

  nudge(): void {
    this.#nudged = true
    this.#wake?.()
  }

  /** It goes on before anybody else has a turn. */
  hurry(): void {
    this.#hurried = true
    this.nudge()
  }

  async rest(ms: () => number): Promise<void> {
    // Handlers that never wait must not keep timers and sockets of the process from their turn.
    if (!this.#hurried) await new Promise(setImmediate)
    this.#hurried = false
    if (!this.#nudged) {
      await new Promise<void>((resolve) => {
        const cancel = this.#clock.after(ms(), () => this.nudge())
        this.#wake = () => {
          cancel()
          resolve()
        }
      })
    }
    this.#wake = undefined
    this.#nudged = false
  }
}
