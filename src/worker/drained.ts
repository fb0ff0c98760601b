interface Waiter {
  includeDelayed: boolean
  resolve: () => void
  reject: (error: Error) => void
}

/** Those who wait until a worker has nothing left to do. */
export class Drained {
  #waiters: Waiter[] = []

  get isAwaited(): boolean {
    return this.#waiters.length > 0
  }

  /** Those who wait now: whoever comes later may have enqueued something since. */
  get waiting(): readonly Waiter[] {
    return [...this.#waiters]
  }

  wait(includeDelayed: boolean): Promise<void> {
    return new Promise((resolve, reject) => this.#waiters.push({ includeDelayed, resolve, reject }))
  }

  /** There is nothing; who waits for delayed ones, too, hears of it when there are none. */
  async tell(waiting: readonly Waiter[], hasDelayed: () => Promise<boolean>): Promise<void> {
    const delayed = waiting.some((waiter) => waiter.includeDelayed) && (await hasDelayed())
    const told = waiting.filter((waiter) => !delayed || !waiter.includeDelayed)
    this.#waiters = this.#waiters.filter((waiter) => !told.includes(waiter))
    for (const waiter of told) waiter.resolve()
  }

  /** It has ended. `failed`: by itself, and something may be left. */
  tellEverybody(failed: Error | null): void {
    for (const waiter of this.#waiters.splice(0)) failed === null ? waiter.resolve() : waiter.reject(failed)
  }
}
