import type { Clock } from '../clock.ts'
import type { MaintenanceStore } from '../store/ports/maintenance.ts'

export interface RerankerOptions {
  /** How often to look for something to do. */
  everyMs: number
  onProblem: (message: string, error: unknown) => void
}

/** A look that found nothing is followed by a longer rest: the process that changes an order looks at once. */
const IDLE_RESTS = 5

/**
 * Puts what waits in a queue whose order has changed into its place: in short steps, beside the work. Any process may, and
 * when one is killed another goes on, because each task's rank tells whether it is done.
 */
export class Reranker {
  readonly #store: MaintenanceStore
  readonly #clock: Clock
  readonly #options: RerankerOptions
  #cancel: (() => void) | undefined
  #stopped = false

  constructor(store: MaintenanceStore, clock: Clock, options: RerankerOptions) {
    this.#store = store
    this.#clock = clock
    this.#options = options
  }

  /** Now, and from now on. */
  start(): void {
    void this.once().then((found) => {
      const restMs = this.#options.everyMs * (found ? 1 : IDLE_RESTS)
      if (!this.#stopped) this.#cancel = this.#clock.after(restMs, () => this.start())
    })
  }

  stop(): void {
    this.#stopped = true
    this.#cancel?.()
  }

  /** Until nothing is left to do. Whether there was anything. */
  async once(): Promise<boolean> {
    let found = false
    try {
      while (!this.#stopped && (await this.#step())) found = true
    } catch (error) {
      found = true
      // The next look, here or elsewhere, goes on.
      if (!this.#stopped) this.#options.onProblem('could not re-rank what waits', error)
    }
    return found
  }

  /** As long as a step took, others have the database to themselves. */
  async #step(): Promise<boolean> {
    const begunMs = this.#clock.monotonicMs()
    const more = await this.#store.rerank()
    if (more) await this.#rest(this.#clock.monotonicMs() - begunMs)
    return more
  }

  #rest(ms: number): Promise<void> {
    return new Promise((resolve) => {
      this.#clock.after(ms, resolve)
    })
  }
}
