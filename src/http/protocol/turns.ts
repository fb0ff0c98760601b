import { Problem } from './problem.ts'

const AT_ONCE = 8
const WAITING_MAX = 256

/**
 * On SQLite a read holds up the thread it runs on, which is also the supervisor's. Each is short; and so that many requests do
 * not become one long hold-up, a few are answered at a time, and whatever else the thread has to do gets its turn in between.
 */
export class RequestTurns {
  #running = 0
  readonly #waiting: (() => void)[] = []

  async take<T>(work: () => Promise<T>): Promise<T> {
    if (this.#running >= AT_ONCE) await this.#wait()
    else this.#running += 1
    try {
      return await work()
    } finally {
      setImmediate(() => this.#pass())
    }
  }

  #wait(): Promise<void> {
    if (this.#waiting.length >= WAITING_MAX)
      throw new Problem('TOO_BUSY', 'too many requests wait already', 'Retry in a second.', {
        headers: { 'retry-after': '1' },
      })
    return new Promise((resolve) => this.#waiting.push(resolve))
  }

  #pass(): void {
    const next = this.#waiting.shift()
    if (next === undefined) this.#running -= 1
    else next()
  }
}
