import { type FSWatcher, watch } from 'node:fs'
import { lockRetryDelayMs } from './connection.ts'
import { sharedMemoryOf, touch } from './touch.ts'

/** A process that finds the lock taken this often within this time writes to a crowded file: it listens, and notifies. */
const CROWD = { tries: 20, withinMs: 1_000 }
/** A process that gets notifications tries less often without one. */
const UNHEARD_MS = 10
/**
 * With more waiting processes than this, none notifies or listens: each notification would wake all of them, and one would get the lock.
 * Each process then retries on its own, less often the more there are, so that about four try while one holds the lock.
 */
const FEW = 6
const TRIES_PER_HOLD = 4
const DELAY_MAX_MS = 50
/** After this many turns of the others, a process tries often again: otherwise processes that just had the lock would starve it. */
const OVERDUE_TURNS = 2
const OTHERS_MAX = 32
/** So few workers, and an app, only retry: what looks like many turns of others is the app's syncs. */
const PAIR = 2
/** Of the averages: a new value counts for a fifth. */
const OLD_SHARE = 0.8

/**
 * Processes that wait for the write lock of a file are notified when it is free. Retrying costs the waiting process, and on few
 * processors also the holder, a tenth of a millisecond each time, and the lock stays unused until the next try. A notification changes the time
 * stamp of the file of the shared memory. A process that rarely waits neither notifies nor listens. If the holder does not notify, the others retry.
 */
export class LockNotifier {
  readonly #file: string
  #waiting: (() => void) | null = null
  #timer: NodeJS.Timeout | undefined
  #watcher: FSWatcher | null = null
  readonly #tries: number[] = []
  #crowdedUntilMs = Number.NEGATIVE_INFINITY
  #heardUntilMs = Number.NEGATIVE_INFINITY
  #waitingSinceMs: number | null = null
  #hasSinceMs = 0
  /** How long this process holds the lock, and how many others hold it while this one waits. */
  #holdMs = 1
  #others = 0
  readonly #workers: () => number

  /** @param workers that are live, or infinity if they were not counted: others that hold the lock for longer than this process look like many. */
  constructor(path: string, workers: () => number) {
    this.#file = sharedMemoryOf(path)
    this.#workers = workers
  }

  /** Another process has the lock: `then` is called when it may be free. */
  wait(then: () => void): void {
    const nowMs = performance.now()
    this.#waitingSinceMs ??= nowMs
    const others = Math.max(this.#others, (nowMs - this.#waitingSinceMs) / this.#holdMs)
    if (this.#workers() <= PAIR) {
      this.close()
      this.#waiting = then
      this.#timer = setTimeout(this.#wake, lockRetryDelayMs())
      return
    }
    const isCrowded = this.#isCrowded(nowMs)
    if (others > FEW) this.close()
    else if (isCrowded) this.#listen(nowMs)
    this.#waiting = then
    this.#timer = setTimeout(this.#wake, this.#delayMs(others, nowMs))
  }

  /** This process has the lock. */
  acquired(): void {
    this.#hasSinceMs = performance.now()
    const waitedMs = this.#hasSinceMs - (this.#waitingSinceMs ?? this.#hasSinceMs)
    this.#waitingSinceMs = null
    this.#others = rolling(this.#others, waitedMs / this.#holdMs)
  }

  /** This process had the lock and released it. */
  released(): void {
    this.#holdMs = rolling(this.#holdMs, performance.now() - this.#hasSinceMs)
    if (this.#watcher === null) return
    if (performance.now() > this.#crowdedUntilMs) return this.close()
    touch(this.#file)
  }

  close(): void {
    this.#watcher?.close()
    this.#watcher = null
  }

  #delayMs(others: number, nowMs: number): number {
    const turnsMs = Math.min(others, OTHERS_MAX) * this.#holdMs
    const isOverdue = nowMs - (this.#waitingSinceMs ?? nowMs) > OVERDUE_TURNS * turnsMs
    if (others > FEW && !isOverdue)
      return lockRetryDelayMs() + Math.random() * Math.min(DELAY_MAX_MS, (2 * turnsMs) / TRIES_PER_HOLD)
    return lockRetryDelayMs() + (nowMs < this.#heardUntilMs ? UNHEARD_MS : 0)
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
      // The system has too many watchers: this process retries without notifications.
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

function rolling(average: number, value: number): number {
  return average * OLD_SHARE + value * (1 - OLD_SHARE)
}
