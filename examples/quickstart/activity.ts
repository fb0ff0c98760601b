// What happens now, read from the database, because the workers are separate processes.
import type { Counts, Discovery, Gleaner, TaskRecord } from '../../src/index.ts' // in your own project: from 'gleaner'
import { duration } from './text.ts'

interface Running {
  /** As it is shown. */
  label: string
  since: number
  /** Null: the task reports no progress. */
  fraction: number | null
  message: string
}

const LOOK_MS = 100
const SLICE_MS = 250
const SLICES = 40
const RUNNING_MAX = 20
const FAILURES_MAX = 10

export class Activity {
  /** Does not count tasks that had ended before the start. */
  counts: Counts = {
    scheduled: 0,
    queued: 0,
    running: 0,
    suspended: 0,
    completed: 0,
    failed: 0,
    cancelled: 0,
  }
  running: Running[] = []
  /** The newest first. */
  failures: { task: string; next: string; message: string; final: boolean }[] = []
  /** Rows that need no more work, and those that do. */
  rows = { done: 0, left: Number.POSITIVE_INFINITY }
  readonly #gleaner: Gleaner
  readonly #before: Counts
  readonly #discovery: { name: string; rows: number }
  readonly #onRunning: (task: TaskRecord) => void
  /** Tasks that ended, per quarter of a second. */
  readonly #ended: number[] = []
  readonly #startedMs = performance.now()
  #stopped = false

  /** Calls `onRunning` for each running task at each look. */
  constructor(
    gleaner: Gleaner,
    before: Counts,
    { name }: Discovery,
    rows: number,
    onRunning: (task: TaskRecord) => void,
  ) {
    this.#gleaner = gleaner
    this.#before = before
    this.#discovery = { name, rows }
    this.#onRunning = onRunning
  }

  get elapsedMs(): number {
    return performance.now() - this.#startedMs
  }

  /** Per second, in the second before the slice that has just begun. */
  get rate(): number {
    return this.#slices()
      .slice(-5, -1)
      .reduce((sum, n) => sum + n, 0)
  }

  /** Tasks that ended in each of the last slices of time, oldest first. */
  get history(): number[] {
    return this.#slices().slice(-SLICES)
  }

  /** Looks until no work is left, delayed tasks and retries included, or until `stop` is called. */
  async untilDrained(): Promise<void> {
    for (;;) {
      await this.#look()
      const { scheduled, queued, running } = this.counts
      if (this.#stopped || scheduled + queued + running + this.rows.left === 0) return
      await new Promise((resolve) => setTimeout(resolve, LOOK_MS))
    }
  }

  stop(): void {
    this.#stopped = true
  }

  async #look(): Promise<void> {
    const { tasks, discoveries } = this.#gleaner
    const { name, rows } = this.#discovery
    const [counts, running, failed, scheduled, stats, claimed] = await Promise.all([
      tasks.counts(),
      tasks.list({ status: 'running', limit: RUNNING_MAX }),
      tasks.list({ status: 'failed', limit: FAILURES_MAX }),
      tasks.list({ status: 'scheduled' }),
      discoveries.stats(name),
      discoveries.rows(name, { state: 'claimed', limit: RUNNING_MAX }),
    ])
    this.#count(counts)
    const { waiting, claimed: held, backingOff, quarantined } = stats
    const left = waiting + held + backingOff
    this.rows = { done: rows - left - quarantined, left }
    this.running = [
      ...running.items.map((task) => ({
        label: labelOf(task),
        since: task.startedAt ?? Date.now(),
        fraction: task.progress?.fraction ?? null,
        message: task.progress?.message ?? '',
      })),
      ...claimed.items.map(({ key, since }) => ({
        label: `${name}/${key}`,
        since: since ?? Date.now(),
        fraction: null,
        message: '',
      })),
    ]
    const retrying = scheduled.items.filter(({ error }) => error !== null)
    this.failures = [...failed.items, ...retrying]
      .sort((a, b) => failedAt(b) - failedAt(a))
      .slice(0, FAILURES_MAX)
      .map(failureOf)
    for (const task of running.items) this.#onRunning(task)
  }

  #count(now: Counts): void {
    const endedBefore = endedOf(this.counts)
    this.counts = { ...now }
    for (const status of ['completed', 'failed', 'cancelled'] as const)
      this.counts[status] -= this.#before[status]
    const slice = Math.floor(this.elapsedMs / SLICE_MS)
    this.#ended[slice] = (this.#ended[slice] ?? 0) + Math.max(0, endedOf(this.counts) - endedBefore)
  }

  #slices(): number[] {
    const now = Math.floor(this.elapsedMs / SLICE_MS)
    return Array.from({ length: now + 1 }, (_, slice) => this.#ended[slice] ?? 0)
  }
}

function labelOf({ name, id }: TaskRecord): string {
  return `${name} ${id}`
}

function failedAt({ finishedAt, startedAt }: TaskRecord): number {
  return finishedAt ?? startedAt ?? 0
}

function failureOf(task: TaskRecord): Activity['failures'][number] {
  const { error, status, runAfter } = task
  const again = duration(Math.max(0, (runAfter ?? 0) - Date.now()))
  const next = status === 'failed' ? `failed (${error?.kind})` : `again in ${again}`
  return { task: labelOf(task), next, message: error?.message ?? '', final: status === 'failed' }
}

function endedOf({ completed, failed, cancelled }: Counts): number {
  return completed + failed + cancelled
}
