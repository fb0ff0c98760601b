import { AsyncLocalStorage } from 'node:async_hooks'
import type { Clock } from '../clock.ts'

interface Run {
  name: string
  sleeps: number
  /** Whose run it is. */
  of: object
}

/** The handlers that run, and those among them that wait for time to pass. */
export class Runs {
  readonly #clock: Clock
  readonly #onChange: () => void
  readonly #current = new AsyncLocalStorage<Run>()
  readonly #running = new Set<Run>()
  #started = new Map<string, number>()
  #startedCount = 0

  constructor(clock: Clock, onChange: () => void) {
    this.#clock = clock
    this.#onChange = onChange
  }

  /** Whose handler this is called from, if any. */
  get current(): string | undefined {
    return this.#current.getStore()?.name
  }

  get sleeping(): number {
    return this.#running.size - this.#awake().length
  }

  /** The tasks whose handlers do something else than to wait for time. */
  get awake(): string[] {
    return [...new Set(this.#awake().map((run) => run.name))]
  }

  async track<T>(of: { name: string }, handler: () => T | Promise<T>): Promise<T> {
    const run: Run = { name: of.name, sleeps: 0, of }
    this.#running.add(run)
    try {
      return await this.#current.run(run, handler)
    } finally {
      this.#running.delete(run)
      this.#onChange()
    }
  }

  /** It ended without an end of its handler. */
  forget(of: object): void {
    for (const run of this.#running) if (run.of === of) this.#running.delete(run)
    this.#onChange()
  }

  sleep(ms: number, signal: AbortSignal | undefined): Promise<void> {
    const run = this.#current.getStore()
    return new Promise((resolve, reject) => {
      if (signal?.aborted) return reject(signal.reason)
      const wakeUp = () => {
        cancel()
        signal?.removeEventListener('abort', abort)
        if (run !== undefined) run.sleeps -= 1
        resolve()
      }
      const abort = () => {
        reject(signal?.reason)
        wakeUp()
      }
      if (run !== undefined) run.sleeps += 1
      signal?.addEventListener('abort', abort)
      const cancel = this.#clock.after(ms, wakeUp)
    })
  }

  // How many since time moved last

  count(name: string): void {
    this.#startedCount += 1
    this.#started.set(name, (this.#started.get(name) ?? 0) + 1)
  }

  countAnew(): void {
    this.#startedCount = 0
    this.#started = new Map()
  }

  get started(): number {
    return this.#startedCount
  }

  get mostStarted(): [name: string, runs: number] {
    return [...this.#started].reduce((most, next) => (next[1] > most[1] ? next : most), ['', 0])
  }

  #awake(): Run[] {
    return [...this.#running].filter((run) => run.sleeps === 0)
  }
}
