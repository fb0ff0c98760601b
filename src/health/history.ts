import type { Clock } from '../clock.ts'
import type { Change, HealthMonitor, Status } from './monitor.ts'

/** A line of the history: a change, or how a component was when all were written down. */
export interface Note {
  component: string
  status: Status
  /** Null: nothing had changed. */
  changedFrom: Status | null
  /** How long ago, because the database has a clock of its own. */
  agoMs: number
}

/** Where notes go. May fail, and may take its time: nobody waits for it. */
export type WriteNotes = (notes: readonly Note[]) => Promise<void>

export interface HistoryOptions {
  /** How often all are written down; default 30 s. */
  snapshotMs?: number
  /** For how long changes wait for others, to be written together; default 1 s. */
  gatherMs?: number
}

const SNAPSHOT_MS = 30_000
const GATHER_MS = 1_000
/** Behind a database that is away, the oldest are forgotten. */
const WAITING_MAX = 1_000

type Waiting = Omit<Note, 'agoMs'> & { atMs: number }

/** What the monitor saw, for people to read later. Best effort: what cannot be written is forgotten. */
export class HealthHistory {
  readonly #clock: Clock
  readonly #monitor: HealthMonitor
  readonly #write: WriteNotes
  readonly #options: HistoryOptions
  #waiting: Waiting[] = []
  #writing: Promise<void> | undefined
  #cancelGather: (() => void) | undefined
  #cancelSnapshot: () => void
  #stopped = false
  /** Notes that were lost. */
  forgotten = 0

  constructor(clock: Clock, monitor: HealthMonitor, write: WriteNotes, options: HistoryOptions = {}) {
    this.#clock = clock
    this.#monitor = monitor
    this.#write = write
    this.#options = options
    this.#cancelSnapshot = this.#nextSnapshot()
  }

  changed({ id, status, before }: Change): void {
    if (this.#stopped) return
    this.#add([{ component: id, status, changedFrom: before, atMs: this.#clock.monotonicMs() }])
    this.#cancelGather ??= this.#clock.afterIfAlive(this.#options.gatherMs ?? GATHER_MS, () => {
      this.#cancelGather = undefined
      this.#flush()
    })
  }

  /** Writes what waits, and no more. */
  async stop(): Promise<void> {
    this.#stopped = true
    this.#cancelSnapshot()
    this.#cancelGather?.()
    await this.#writing
    this.#flush()
    await this.#writing
  }

  #nextSnapshot(): () => void {
    return this.#clock.afterIfAlive(this.#options.snapshotMs ?? SNAPSHOT_MS, () => {
      const atMs = this.#clock.monotonicMs()
      this.#add(
        this.#monitor.all().map(({ id, status }) => ({ component: id, status, changedFrom: null, atMs })),
      )
      this.#flush()
      this.#cancelSnapshot = this.#nextSnapshot()
    })
  }

  #add(notes: readonly Waiting[]): void {
    this.#waiting.push(...notes)
    const tooMany = Math.max(0, this.#waiting.length - WAITING_MAX)
    this.#waiting.splice(0, tooMany)
    this.forgotten += tooMany
  }

  /** One write at a time: behind one that hangs, the others wait and are forgotten in the end. */
  #flush(): void {
    if (this.#writing !== undefined || this.#waiting.length === 0) return
    const now = this.#clock.monotonicMs()
    const notes = this.#waiting.map(({ atMs, ...note }) => ({ ...note, agoMs: Math.round(now - atMs) }))
    this.#waiting = []
    this.#writing = this.#write(notes)
      .catch(() => {
        this.forgotten += notes.length
      })
      .finally(() => {
        this.#writing = undefined
        if (!this.#stopped) this.#flush()
      })
  }
}
