import type { Clock } from '../clock.ts'
import type { MaintenanceStore } from '../store/ports/maintenance.ts'

export interface RepairerOptions {
  everyMs: number
  onProblem: (message: string, error: unknown) => void
}

/** Looked at in one transaction. */
const STEP_ROWS = 500

/**
 * Takes away claims on rows that nobody holds any more, and what is remembered of rows that are done, gone or edited. Any
 * process may, at any time: nothing of it is needed, it is only in the way.
 */
export class Repairer {
  readonly #store: MaintenanceStore
  readonly #clock: Clock
  readonly #options: RepairerOptions
  #cancel: (() => void) | undefined
  #isStarted = false
  #isStopped = false

  constructor(store: MaintenanceStore, clock: Clock, options: RepairerOptions) {
    this.#store = store
    this.#clock = clock
    this.#options = options
  }

  /** Now, and from now on. */
  start(): void {
    if (this.#isStarted) return
    this.#isStarted = true
    void this.#again()
  }

  stop(): void {
    this.#isStopped = true
    this.#cancel?.()
  }

  async #again(): Promise<void> {
    try {
      await this.#once()
    } catch (error) {
      // The next look, here or elsewhere, goes on.
      if (!this.#isStopped)
        this.#options.onProblem('could not check the claims on rows; the next pass retries', error)
    }
    if (!this.#isStopped) this.#cancel = this.#clock.after(this.#options.everyMs, () => void this.#again())
  }

  async #once(): Promise<void> {
    let after: string | null = null
    do {
      const step = await this.#store.repairRows({ limit: STEP_ROWS, after })
      after = step.next
    } while (after !== null && !this.#isStopped)
  }
}
