import { type FSWatcher, watch } from 'node:fs'
import { retryDelayMs } from './connection.ts'
import { sharedMemoryOf, stamp } from './stamp.ts'

/** Who came too late so often within such a time writes to a crowded file: he listens, and rings. */
const CROWD = { tries: 20, withinMs: 1_000 }
/** Who hears the bell need not try so often by himself. */
const UNHEARD_MS = 10
/**
 * With more processes than this before us nobody rings or listens: all of them would wake at each ring, and one would get the lock.
 * Each tries by itself then, the less often the more there are, so that four or so try while one has the lock.
 */
const FEW = 6
const TRIES_PER_HOLD = 4
const DELAY_MAX_MS = 50
/** A process that has waited for this many turns of the others tries often again: rare tries would let those who just had the lock starve it. */
const OVERDUE_TURNS = 2
const OTHERS_MAX = 32
/** Of the averages: a new value counts for a fifth. */
const OLD_SHARE = 0.8

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
  #waitingSinceMs: number | null = null
  #hasSinceMs = 0
  /** How long we have the lock, and how many others have it while we wait. */
  #holdMs = 1
  #others = 0

  /** @param path of the database */
  constructor(path: string) {
    this.#file = sharedMemoryOf(path)
  }

  /** Somebody has the lock: `then` is called when it may be free. */
  wait(then: () => void): void {
    const nowMs = performance.now()
    this.#waitingSinceMs ??= nowMs
    const others = Math.max(this.#others, (nowMs - this.#waitingSinceMs) / this.#holdMs)
    const isCrowded = this.#isCrowded(nowMs)
    if (others > FEW) this.close()
    else if (isCrowded) this.#listen(nowMs)
    this.#waiting = then
    this.#timer = setTimeout(this.#wake, this.#delayMs(others, nowMs))
  }

  /** We have the lock. */
  got(): void {
    this.#hasSinceMs = performance.now()
    const waitedMs = this.#hasSinceMs - (this.#waitingSinceMs ?? this.#hasSinceMs)
    this.#waitingSinceMs = null
    this.#others = rolling(this.#others, waitedMs / this.#holdMs)
  }

  /** We had the lock, and let go of it. */
  ring(): void {
    this.#holdMs = rolling(this.#holdMs, performance.now() - this.#hasSinceMs)
    if (this.#watcher === null) return
    if (performance.now() > this.#crowdedUntilMs) return this.close()
    stamp(this.#file)
  }

  close(): void {
    this.#watcher?.close()
    this.#watcher = null
  }

  #delayMs(others: number, nowMs: number): number {
    const turnsMs = Math.min(others, OTHERS_MAX) * this.#holdMs
    const isOverdue = nowMs - (this.#waitingSinceMs ?? nowMs) > OVERDUE_TURNS * turnsMs
    if (others > FEW && !isOverdue)
      return retryDelayMs() + Math.random() * Math.min(DELAY_MAX_MS, (2 * turnsMs) / TRIES_PER_HOLD)
    return retryDelayMs() + (nowMs < this.#heardUntilMs ? UNHEARD_MS : 0)
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

function rolling(average: number, value: number): number {
  return average * OLD_SHARE + value * (1 - OLD_SHARE)
}
