import type { Clock } from '../clock.ts'
import { type Duration, durationMs } from '../duration.ts'
import { InputError } from '../errors.ts'
import { declareOptions, refuseUnknown } from '../options.ts'
import type { HealthChange, HealthStatus, SeenHealth } from './status.ts'

const OPTIONS = declareOptions<HistoryOptions>('history', { gleaner: true, interval: true })

/** One line of the history: a change, or the status of a component when the monitor wrote down all of them. */
export interface HealthNote {
  /** The id of the component. */
  component: string
  /** Its status. */
  status: HealthStatus
  /** The status before. Null: the status did not change. */
  changedFrom: HealthStatus | null
  /** What it worked on. */
  item: string | null
  /** How long ago, in milliseconds: the database has a clock of its own. */
  agoMs: number
}

/** Where a monitor keeps its history: `Gleaner` is one. Its methods may fail or take long, and the monitor does not wait. */
export interface HistoryTarget {
  /** Keeps notes. */
  readonly health: {
    /** Appends notes. A component without a note for `freshMs` counts as lost. */
    record(notes: readonly HealthNote[], options: { freshMs: number }): Promise<void>
    /** The monitor no longer watches these components. */
    forget(components: readonly string[]): Promise<void>
  }
}

/** A target, or one with the interval at which the status of all components is written down. Default 30 s. */
export type HistoryOptions = HistoryTarget | { gleaner: HistoryTarget; interval?: Duration }

const SNAPSHOT: Duration = '30s'
const SNAPSHOT_MIN_MS = 100
/** Changes wait for others for that long, and are written together. */
const GATHER_MS = 1_000
/** When the database is away, the oldest notes are dropped. */
const WAITING_MAX = 1_000
const FORGOTTEN_MAX = 10_000
const ITEM_MAX = 200
/** Of snapshots that may fail before a component counts as lost. */
const MISSED_MAX = 3
/** Nothing depends on the history, so `stop` does not wait for a database that is away. */
const STOP_WITHIN_MS = 2_000

export function historySettings(options: HistoryOptions): { target: HistoryTarget; snapshotMs: number } {
  const known = isTarget(options) ? { gleaner: options } : options
  const { gleaner: target, interval = SNAPSHOT }: { gleaner: HistoryTarget; interval?: Duration } =
    known ?? {}
  if (!isTarget(target))
    throw new InputError('history: this is not a Gleaner', {
      code: 'BAD_OPTION',
      hint: "Use { history: gleaner } or { history: { gleaner, interval: '30s' } }.",
    })
  refuseUnknown(known, OPTIONS, 'history')
  const snapshotMs = durationMs(interval, 'history.interval')
  if (snapshotMs < SNAPSHOT_MIN_MS)
    throw new InputError(`history.interval: ${snapshotMs} ms is too short`, {
      code: 'BAD_OPTION',
      hint: `Use at least ${SNAPSHOT_MIN_MS} ms. Each interval writes to the database.`,
    })
  return { target, snapshotMs }
}

function isTarget(value: unknown): value is HistoryTarget {
  return typeof (value as HistoryTarget | null | undefined)?.health?.record === 'function'
}

interface Source {
  snapshot(): SeenHealth[]
  itemOf(id: string): string | null
}

type Waiting = Omit<HealthNote, 'agoMs'> & { atMs: number }

/** What the monitor saw, for people to read later. Best effort: what cannot be written is dropped. */
export class HealthHistory {
  readonly #clock: Clock
  readonly #source: Source
  readonly #target: HistoryTarget
  readonly #snapshotMs: number
  #waiting: Waiting[] = []
  #gone = new Set<string>()
  #writing: Promise<void> | undefined
  #cancelGather: (() => void) | undefined
  #cancelSnapshot: () => void
  #stopped = false
  /** How many notes were lost. */
  dropped = 0

  constructor(
    source: Source,
    target: HistoryTarget,
    { clock, snapshotMs }: { clock: Clock; snapshotMs: number },
  ) {
    this.#clock = clock
    this.#source = source
    this.#target = target
    this.#snapshotMs = snapshotMs
    this.#cancelSnapshot = this.#nextSnapshot()
  }

  changed({ id, status, before }: HealthChange): void {
    if (this.#stopped) return
    this.#gone.delete(id)
    this.#add([this.#note({ id, status }, before)])
    this.#flushSoon()
  }

  forget(id: string): void {
    if (this.#stopped || this.#gone.size >= FORGOTTEN_MAX) return
    this.#gone.add(id)
    this.#flushSoon()
  }

  /** Writes what waits. `components` are no longer monitored. */
  async stop(components: readonly string[]): Promise<void> {
    this.#stopped = true
    for (const id of components) this.#gone.add(id)
    this.#cancelSnapshot()
    this.#cancelGather?.()
    let cancel = () => {}
    const over = new Promise<void>((resolve) => {
      cancel = this.#clock.after(STOP_WITHIN_MS, resolve)
    })
    await Promise.race([this.#writeAll(), over])
    cancel()
  }

  async #writeAll(): Promise<void> {
    await this.#writing
    this.#flush()
    await this.#writing
  }

  #flushSoon(): void {
    this.#cancelGather ??= this.#clock.afterIfAlive(Math.min(GATHER_MS, this.#snapshotMs), () => {
      this.#cancelGather = undefined
      this.#flush()
    })
  }

  #nextSnapshot(): () => void {
    return this.#clock.afterIfAlive(this.#snapshotMs, () => {
      this.#add(this.#source.snapshot().map((seen) => this.#note(seen, null)))
      this.#flush()
      this.#cancelSnapshot = this.#nextSnapshot()
    })
  }

  #note({ id, status }: Pick<SeenHealth, 'id' | 'status'>, changedFrom: HealthStatus | null): Waiting {
    // Not every database can store every text.
    const item = this.#source.itemOf(id)?.slice(0, ITEM_MAX).toWellFormed().replaceAll('\0', '') ?? null
    return { component: id, status, changedFrom, item, atMs: this.#clock.monotonicMs() }
  }

  #add(notes: readonly Waiting[]): void {
    this.#waiting.push(...notes)
    const tooMany = Math.max(0, this.#waiting.length - WAITING_MAX)
    this.#waiting.splice(0, tooMany)
    this.dropped += tooMany
  }

  /** One write at a time: while one hangs, the others wait, and the oldest are dropped. */
  #flush(): void {
    if (this.#writing !== undefined || (this.#waiting.length === 0 && this.#gone.size === 0)) return
    const now = this.#clock.monotonicMs()
    const notes = this.#waiting.map(({ atMs, ...note }) => ({ ...note, agoMs: Math.round(now - atMs) }))
    const gone = [...this.#gone]
    this.#waiting = []
    this.#gone.clear()
    this.#writing = this.#write(notes, gone)
      .catch(() => {
        this.dropped += notes.length
      })
      .finally(() => {
        this.#writing = undefined
        if (!this.#stopped) this.#flush()
      })
  }

  async #write(notes: readonly HealthNote[], gone: readonly string[]): Promise<void> {
    const { health } = this.#target
    if (notes.length > 0) await health.record(notes, { freshMs: this.#snapshotMs * MISSED_MAX })
    if (gone.length > 0) await health.forget(gone)
  }
}
