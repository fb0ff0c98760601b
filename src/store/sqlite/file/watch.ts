import { type FSWatcher, watch } from 'node:fs'
import type { Connection } from './connection.ts'

/**
 * An event of the log comes when its bytes are written; the commit is visible only after the sync. So we look again, soon at first
 * and then less often, for about a second: a busy disk takes its time.
 */
const LOOK_AGAIN_MS = [1, 1, 1, 2, 3, 5, 8, 12, 18, 30, 50, 100, 200, 400]

/**
 * When others commit all the time, looking each time would cost more than it brings: less often while it brings nothing, and soon
 * again when it did.
 */
const BURST_PAUSE_MS = { least: 4, most: 25 }
const BURST_PAUSE_FACTOR = 1.5
const BURST_LOOKS = 4

/**
 * Tells when another connection, in this process or another, has committed something to the file. It costs every process that
 * watches something for every commit, so it is only for those who wait for what is signalled by no store: rows of a user's table, and
 * the ends of tasks.
 */
export class FileWatch {
  readonly #connection: Connection
  readonly #notify: () => void
  #watcher: FSWatcher | null = null
  #timer: NodeJS.Timeout | undefined
  #seenVersion: unknown
  #looks = 0
  #nextLookMs = 0
  #recent: number[] = []
  #pauseMs = BURST_PAUSE_MS.least
  #closed = false

  constructor(connection: Connection, notify: () => void) {
    this.#connection = connection
    this.#notify = notify
    this.#seenVersion = this.#version()
    this.#watch()
  }

  close(): void {
    this.#closed = true
    clearTimeout(this.#timer)
    this.#unwatch()
  }

  /** A worker asked for more: what others commit is worth a look, or not. */
  asked({ isOpen, found }: { isOpen: boolean; found: boolean }): void {
    if (found) this.#pauseMs = BURST_PAUSE_MS.least
    else if (isOpen) this.#pauseMs = Math.min(this.#pauseMs * BURST_PAUSE_FACTOR, BURST_PAUSE_MS.most)
  }

  /** SQLite's own word for it: changes when another connection has committed, not when this one has. */
  #version(): unknown {
    return this.#connection.statements.scalar('PRAGMA data_version').get()
  }

  #watch(): void {
    try {
      this.#watcher = watch(`${this.#connection.path}-wal`, { persistent: false }, (event) =>
        this.#onEvent(event),
      )
      this.#watcher.on('error', () => this.#rewatchLater())
    } catch {
      // The file does not exist (yet), or there are too many watchers: the workers' own polling remains.
      this.#rewatchLater()
    }
  }

  #unwatch(): void {
    this.#watcher?.close()
    this.#watcher = null
  }

  #rewatchLater(): void {
    this.#unwatch()
    this.#schedule(1_000, () => {
      this.#watch()
      this.#look()
    })
  }

  #onEvent(event: string): void {
    if (event === 'rename') this.#onRemoved()
    this.#looks = 0
    this.#look()
  }

  /** A file of the database was removed, or renamed. Those who ask for something next hear of it. */
  #onRemoved(): void {
    try {
      this.#connection.mustBeInPlace()
    } catch {
      this.#notify()
    }
  }

  #lookLater(): void {
    const delay = LOOK_AGAIN_MS[this.#looks]
    // A stream of events must not put off the look that the first of them asked for.
    const soonEnough = this.#timer !== undefined && this.#nextLookMs <= performance.now() + 1
    if (delay === undefined || soonEnough) return
    this.#looks += 1
    this.#schedule(delay, () => this.#look())
  }

  #look(): void {
    if (!this.#tellIfChanged()) return this.#lookLater()
    this.#looks = 0
    if (this.#isBurst()) this.#pause()
  }

  #tellIfChanged(): boolean {
    const changed = this.#changed()
    if (changed) this.#notify()
    return changed
  }

  #changed(): boolean {
    if (this.#closed || this.#connection.raw.inTransaction) return false
    try {
      const version = this.#version()
      const changed = version !== this.#seenVersion
      this.#seenVersion = version
      return changed
    } catch {
      // Locked for a moment: the next look will tell.
      return false
    }
  }

  #isBurst(): boolean {
    const now = performance.now()
    this.#recent = [...this.#recent.slice(1 - BURST_LOOKS), now]
    return this.#recent.length === BURST_LOOKS && now - this.#recent[0]! < BURST_PAUSE_MS.most * BURST_LOOKS
  }

  /** Not even the events are read until a look finds nothing new: they, and watching anew, are what costs. */
  #pause(): void {
    this.#unwatch()
    this.#schedule(this.#pauseMs, () => {
      if (this.#tellIfChanged()) return this.#pause()
      this.#watch()
      this.#look()
    })
  }

  #schedule(ms: number, then: () => void): void {
    if (this.#closed) return
    clearTimeout(this.#timer)
    this.#nextLookMs = performance.now() + ms
    this.#timer = setTimeout(() => {
      this.#timer = undefined
      if (!this.#closed) then()
    }, ms)
    this.#timer.unref()
  }
}
