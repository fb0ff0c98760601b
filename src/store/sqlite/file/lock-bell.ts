import { type FSWatcher, watch } from 'node:fs'
import { retryDelayMs } from './connection.ts'
import { sharedMemoryOf, stamp } from './stamp.ts'

/** Who came too late so often within such a time writes to a crowded file: he listens, and rings. */
const CROWD = { tries: 20, withinMs: 1_000 }
/** Who hears the bell need not try so often by himself. */
const UNHEARD_MS = 10

/**
 * Processes that wait for the write lock of a file hear when it is free. Trying again and again costs them, and on few processors whoever has
 * the lock, a tenth of a millisecond each time; and nobody has the lock until the next one tries. The bell is the time
 * stamp of the shared memory's file. Who waits now and then neither rings nor listens; who waits for a program that does not ring tries again.
 */
export class LockBell {
  readonly #file: string
  #waiting: (() => void) | null = null
  #timer: NodeJS.Timeout | undefined
  #watcher: FSWatcher | null = null
  readonly #tries: number[] = []
  #crowdedUntilMs = Number.NEGATIVE_INFINITY
  #heardUntilMs = Number.NEGATIVE_INFINITY

  /** @param path of the database */
  constructor(path: string) {
    this.#file = sharedMemoryOf(path)
  }

  /** Somebody has the lock: `then` is called when it may be free. */
  wait(then: () => void): void {
    const nowMs = performance.now()
    if (this.#isCrowded(nowMs)) this.#listen(nowMs)
    this.#waiting = then
    const delayMs = retryDelayMs() + (nowMs < this.#heardUntilMs ? UNHEARD_MS : 0)
    this.#timer = setTimeout(this.#wake, delayMs)
  }

  /** We had the lock, and let go of it. */
  ring(): void {
    if (this.#watcher === null) return
    if (performance.now() > this.#crowdedUntilMs) return this.close()
    stamp(this.#file)
  }

  close(): void {
    this.#watcher?.close()
    this.#watcher = null
  }

  #isCrowded(nowMs: number): boolean {
    this.#tries.push(nowMs)
    if (this.#tries.length <= CROWD.tries) return false
    return nowMs - this.#tries.shift()! <= CROWD.withinMs
  }

  #listen(nowMs: number): void {
    this.#crowdedUntilMs = nowMs + CROWD.withinMs
    if (this.#watcher !== null) return
    try {
      this.#watcher = watch(this.#file, { persistent: false }, this.#hear)
      this.#watcher.on('error', () => this.close())
    } catch {
      // There are too many watchers: we try again by ourselves.
    }
  }

  readonly #hear = (): void => {
    const nowMs = performance.now()
    this.#heardUntilMs = nowMs + CROWD.withinMs
    if (this.#waiting !== null) this.#wake()
    else if (nowMs > this.#crowdedUntilMs) this.close()
  }

  readonly #wake = (): void => {
    clearTimeout(this.#timer)
    const waiting = this.#waiting
    this.#waiting = null
    waiting?.()
  }
}
