import { type FSWatcher, watch } from 'node:fs'
import { SIGNALS, type Signal, type WakeFile } from './wake-file.ts'

/**
 * Workers that found nothing last time wait a random part of this, for each worker of the database. So one of them looks after
 * another until the work is taken, instead of all at once.
 */
const TURN_MS = 1.5
const TURNS_MAX_MS = 100
/** Who finds nothing again and again takes longer, up to so many times. */
const LATER_MAX = 8
/** Looks in vain before others look first. Two signals may be for one claim. */
const MISSES_FIRST = 2
/** So far apart are two looks at least: what comes faster is claimed together. */
const LOOK_EVERY_MS = 2
/** Who has no room for more reads no signals of new work for so long, because reading them is what costs. */
const FULL_MS = 25
const REWATCH_MS = 1_000

interface Options {
  /** How many workers the database has, as far as we know. */
  workers: () => number
  onSignal: (signal: Signal) => void
  /** In [0, 1): whose turn it is. */
  random: () => number
}

/**
 * Hears the signals of other processes. A worker that found work last time looks at once. The others follow one after another: they
 * find nothing if the first one took everything, and the rest if it did not, or if it died.
 */
export class WakeWatch {
  readonly #file: WakeFile
  readonly #options: Options
  /** The sessions of this process: whether they have room for more. */
  readonly #haveRoom = new Map<string, boolean>()
  #watcher: FSWatcher | null = null
  #timer: NodeJS.Timeout | undefined
  #seen: number[]
  #misses = MISSES_FIRST
  #isTold = false
  #toldMs = Number.NEGATIVE_INFINITY
  #isClosed = false

  constructor(file: WakeFile, options: Options) {
    this.#file = file
    this.#options = options
    this.#watch()
    this.#seen = file.read()
  }

  /** We signalled this ourselves, and tell our own listeners directly. */
  rang(signal: Signal, number: number): void {
    this.#seen[SIGNALS.indexOf(signal)] = number
  }

  close(): void {
    this.#isClosed = true
    clearTimeout(this.#timer)
    this.#unwatch()
  }

  /** A worker asked for more in this very moment. `isOpen`: it has room for more than there was. */
  asked(session: string, { isOpen, found }: { isOpen: boolean; found: boolean }): void {
    if (found) this.#misses = 0
    else if (isOpen && this.#isTold) this.#misses += 1
    if (isOpen) this.#isTold = false
    const wasFull = this.#isFull
    this.#haveRoom.set(session, isOpen)
    // What was signalled until now it has seen.
    if (isOpen && wasFull && this.#watcher === null) this.#resume({ heedsWork: false })
  }

  left(session: string): void {
    this.#haveRoom.delete(session)
  }

  get #isFull(): boolean {
    return this.#haveRoom.size > 0 && ![...this.#haveRoom.values()].includes(true)
  }

  #watch(): void {
    if (this.#isClosed || this.#watcher !== null) return
    try {
      this.#file.create()
      this.#watcher = watch(this.#file.path, { persistent: false }, (event) => this.#onEvent(event))
      this.#watcher.on('error', () => this.#rewatchLater())
    } catch {
      // There are too many watchers, or the folder is gone: the workers' own polling remains.
      this.#rewatchLater()
    }
  }

  #unwatch(): void {
    this.#watcher?.close()
    this.#watcher = null
  }

  #rewatchLater(): void {
    this.#unwatch()
    this.#after(REWATCH_MS, () => this.#resume())
  }

  #onEvent(event: string): void {
    if (this.#isClosed) return
    // Removed: whoever signals next needs a new one.
    if (event === 'rename') {
      this.#unwatch()
      this.#watch()
    }
    this.#read()
  }

  #read({ heedsWork = true } = {}): void {
    const before = this.#seen
    this.#seen = this.#file.read()
    for (const [place, signal] of SIGNALS.entries()) {
      if (this.#seen[place] === before[place]) continue
      if (signal !== 'work') this.#options.onSignal(signal)
      else if (heedsWork) this.#onWork()
    }
  }

  #onWork(): void {
    if (this.#isFull) return this.#pause()
    // The look that is planned will see it as well.
    if (this.#timer !== undefined) return this.#unwatch()
    const ms = Math.max(this.#turnMs(), this.#toldMs + LOOK_EVERY_MS - performance.now())
    if (ms <= 0) this.#tell()
    else this.#after(ms, () => this.#lookInTurn())
  }

  #turnMs(): number {
    if (this.#misses < MISSES_FIRST) return 0
    const others = this.#options.workers() - 1
    const later = Math.min(LATER_MAX, 2 ** (this.#misses - MISSES_FIRST))
    return this.#options.random() * Math.min(TURNS_MAX_MS, others * TURN_MS) * later
  }

  #lookInTurn(): void {
    this.#watch()
    this.#read({ heedsWork: false })
    this.#tell()
  }

  #tell(): void {
    this.#isTold = true
    this.#toldMs = performance.now()
    this.#options.onSignal('work')
  }

  #pause(): void {
    this.#unwatch()
    if (this.#timer === undefined) this.#after(FULL_MS, () => this.#resume())
  }

  #resume(how: { heedsWork?: boolean } = {}): void {
    clearTimeout(this.#timer)
    this.#timer = undefined
    this.#watch()
    this.#read(how)
  }

  #after(ms: number, then: () => void): void {
    if (this.#isClosed) return
    clearTimeout(this.#timer)
    this.#timer = setTimeout(() => {
      this.#timer = undefined
      then()
    }, ms)
    this.#timer.unref()
  }
}
