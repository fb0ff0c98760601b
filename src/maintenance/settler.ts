import type { Clock } from '../clock.ts'
import type { FlowStore } from '../store/ports/flows.ts'

interface SettlerOptions {
  /** How often to look for ends without news: their processes died between the end and its news. */
  everyMs: number
  onProblem: (message: string, error: unknown) => void
}

/** Resumes what waits for other tasks, when these end. Any process may: each end is heard of once. */
export class Settler {
  readonly #store: Pick<FlowStore, 'settle'>
  readonly #clock: Clock
  readonly #options: SettlerOptions
  #settling: Promise<void> | null = null
  #again = false
  #cancel: (() => void) | undefined
  #isStarted = false
  #isStopped = false

  constructor(store: Pick<FlowStore, 'settle' | 'onNews'>, clock: Clock, options: SettlerOptions) {
    this.#store = store
    this.#clock = clock
    this.#options = options
    store.onNews(() => this.wake())
  }

  /** From now on. */
  start(): void {
    if (this.#isStarted) return
    this.#isStarted = true
    this.#cancel = this.#clock.after(this.#options.everyMs, () => this.#round())
  }

  /** Tasks ended that others may wait for. */
  wake(): void {
    this.#again = true
    if (this.#isStopped) return
    this.#settling ??= this.#settle().finally(() => {
      this.#settling = null
    })
  }

  /** What has begun ends. */
  async stop(): Promise<void> {
    this.#isStopped = true
    this.#cancel?.()
    await this.#settling
  }

  #round(): void {
    if (this.#isStopped) return
    this.wake()
    this.#cancel = this.#clock.after(this.#options.everyMs, () => this.#round())
  }

  async #settle(): Promise<void> {
    try {
      while (this.#again && !this.#isStopped) {
        this.#again = false
        const { more } = await this.#store.settle()
        if (more) this.#again = true
      }
    } catch (error) {
      // The next look, here or elsewhere, goes on.
      if (!this.#isStopped)
        this.#options.onProblem(
          'could not resume what waits for tasks that ended; the next pass retries',
          error,
        )
    }
  }
}
