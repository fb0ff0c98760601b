import type { Clock } from '../clock.ts'
import { type LockCounts, lockMeasured } from '../model/database-use.ts'
import { addTo, BUCKETS, bucketOf } from '../model/histogram.ts'
import { type Incident, type Measured, ROWS, rescue, WORKERS } from '../model/metrics.ts'
import type { EndCause } from '../model/session.ts'
import type { AdminStore } from '../store/ports/admin.ts'

/** Counts of so many names and queues are written in one transaction. */
const WRITTEN_TOGETHER_MAX = 500

/**
 * Counts what this process enqueues and runs, in memory, and writes it down every few seconds: what happens a thousand
 * times a second must not cost a thousand writes. A process that dies loses the counts of its last seconds, and no task.
 */
export class Meter {
  readonly #store: AdminStore
  readonly #clock: Clock
  readonly #everyMs: number
  /** What this process does with the write lock of the database, and what of it was counted. */
  readonly #lock: Readonly<LockCounts> | null
  #counted: LockCounts = { writes: 0, busyMs: 0, waits: 0, waitedMs: 0 }
  #queues = new Map<string, Map<string, Counting>>()
  /** Mostly it is the same as the last time, and this is asked for every task. */
  #last: Counting | undefined
  #cancel: (() => void) | undefined
  #writing: Promise<void> | undefined
  #closed = false
  #stirred = false

  constructor(store: AdminStore, clock: Clock, everyMs: number, lock: Readonly<LockCounts> | null = null) {
    this.#lock = lock
    this.#store = store
    this.#clock = clock
    this.#everyMs = everyMs
  }

  enqueued({ queue, name }: { queue: string; name: string }, count = 1): void {
    if (count > 0) this.#of(queue, name).enqueued += count
  }

  /** An attempt at a task, or at a row (without a queue), has ended: `ms` is how long it took, null if nobody knows. */
  ran(
    { queue, name }: { queue: string | null; name: string },
    how: 'completed' | 'failed' | 'retried',
    ms: number | null,
  ): void {
    const counting = this.#of(queue ?? ROWS, name)
    counting[how] += 1
    if (ms !== null) counting.buckets[bucketOf(ms)]! += 1
  }

  /** Something went wrong with an attempt. */
  incident({ queue, name }: { queue: string | null; name: string }, what: Incident): void {
    const { incidents } = this.#of(queue ?? ROWS, name)
    incidents.set(what, (incidents.get(what) ?? 0) + 1)
  }

  /** A worker asked for more: how many items it got, and how often somebody else was faster. */
  claimed(from: 'tasks' | 'rows', claims: number, conflicts = 0): void {
    if (claims === 0 && conflicts === 0) return
    const { incidents } = this.#of(WORKERS, from)
    if (claims > 0) addTo(incidents, [['claims', claims]])
    if (conflicts > 0) addTo(incidents, [['conflicts', conflicts]])
  }

  /** Tasks were cancelled, removed or begun anew: how many are unfinished is written down again. */
  stirred(): void {
    this.#stirred = true
    this.#flushSoon()
  }

  /** A worker was gone, and what it held was given back. */
  rescued(cause: EndCause, items: number): void {
    this.#putBack([rescue(cause, items)])
  }

  /** Now; what is being written is waited for, and so is what somebody else who waited began to write then. */
  async flush(): Promise<void> {
    while (this.#writing !== undefined) await this.#writing
    this.#cancel?.()
    this.#cancel = undefined
    const measured = [...this.#queues.values()].flatMap((names) => [...names.values()].map(measuredBy))
    if (measured.length === 0 && !this.#stirred) return
    const used = this.#lockUsed()
    if (used !== null) measured.push(used)
    this.#stirred = false
    this.#queues = new Map()
    this.#last = undefined
    this.#writing = this.#write(measured).finally(() => {
      this.#writing = undefined
    })
    await this.#writing
  }

  /** Only beside other counts: to write this alone would be the next use. */
  #lockUsed(): Measured | null {
    if (this.#lock === null) return null
    const { writes, busyMs, waits, waitedMs } = this.#lock
    const now = { writes, busyMs, waits, waitedMs }
    const used = lockMeasured(now, this.#counted)
    if (used !== null) this.#counted = now
    return used
  }

  /** In parts, because thousands of names in one transaction would hold up everybody else. */
  async #write(measured: readonly Measured[]): Promise<void> {
    for (let from = 0; from === 0 || from < measured.length; from += WRITTEN_TOGETHER_MAX) {
      const part = measured.slice(from, from + WRITTEN_TOGETHER_MAX)
      // What could not be written is kept for the next time.
      await this.#store.addMetrics(part).catch(() => this.#putBack(part))
    }
  }

  async close(): Promise<void> {
    await this.flush()
    this.#closed = true
    this.#cancel?.()
  }

  #putBack(measured: readonly Measured[]): void {
    for (const one of measured) {
      const again = this.#of(one.queue, one.name)
      for (const counter of ['enqueued', 'completed', 'failed', 'retried'] as const)
        again[counter] += one[counter]
      for (const [bucket, count] of one.durations) again.buckets[bucket]! += count
      addTo(again.incidents, one.incidents ?? [])
    }
  }

  #of(queue: string, name: string): Counting {
    const last = this.#last
    if (last !== undefined && last.name === name && last.queue === queue) return last
    this.#last = this.#queues.get(queue)?.get(name) ?? this.#begin(queue, name)
    return this.#last
  }

  #begin(queue: string, name: string): Counting {
    const names = this.#queues.get(queue) ?? new Map<string, Counting>()
    const buckets = new Uint32Array(BUCKETS)
    const counting: Counting = {
      queue,
      name,
      enqueued: 0,
      completed: 0,
      failed: 0,
      retried: 0,
      buckets,
      incidents: new Map(),
    }
    this.#queues.set(queue, names.set(name, counting))
    this.#flushSoon()
    return counting
  }

  #flushSoon(): void {
    if (!this.#closed) this.#cancel ??= this.#clock.afterIfAlive(this.#everyMs, () => void this.flush())
  }
}

type Counting = Omit<Measured, 'durations'> & { buckets: Uint32Array; incidents: Map<Incident, number> }

function measuredBy({ buckets, ...counts }: Counting): Measured {
  const durations = new Map<number, number>()
  for (let bucket = 0; bucket < buckets.length; bucket++)
    if (buckets[bucket]! > 0) durations.set(bucket, buckets[bucket]!)
  return { ...counts, durations }
}
