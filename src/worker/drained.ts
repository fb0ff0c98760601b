import type { InFlight } from './in-flight.ts'
import type { Sources } from './sources/sources.ts'

interface Waiter {
  includeDelayed: boolean
  resolve: () => void
  reject: (error: Error) => void
}

interface DrainedParts {
  inFlight: InFlight
  sources: Sources
}

/** Who waits until the worker has nothing left to do? */
export class Drained {
  waiters: readonly Waiter[] = []
  readonly #parts: DrainedParts

  constructor(parts: DrainedParts) {
    this.#parts = parts
  }

  wait(includeDelayed: boolean): Promise<void> {
    return new Promise((resolve, reject) => {
      this.waiters = [...this.waiters, { includeDelayed, resolve, reject }]
    })
  }

  /** The last exchange found nothing for these waiters. Those that include delayed items wait until there are none of them either. */
  async tell(waiting: readonly Waiter[]): Promise<void> {
    const { inFlight, sources } = this.#parts
    if (inFlight.running + inFlight.prefetched.size > 0 || sources.haveUnsent) return
    const delayed = waiting.some(({ includeDelayed }) => includeDelayed) && (await sources.haveDelayed())
    const told = waiting.filter(({ includeDelayed }) => !delayed || !includeDelayed)
    this.waiters = this.waiters.filter((waiter) => !told.includes(waiter))
    for (const { resolve } of told) resolve()
  }

  /** The worker has ended. `failed`: it gave up, and something may be left. */
  end(failed: Error | null): void {
    const told = this.waiters
    this.waiters = []
    for (const waiter of told) failed === null ? waiter.resolve() : waiter.reject(failed)
  }
}
