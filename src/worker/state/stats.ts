import type { ResourceError } from '../../errors.ts'
import type { WorkerCounters } from '../../model/worker.ts'
import type { Attempt } from '../attempt/attempt.ts'
import type { AttemptOutcome } from '../attempt/source.ts'
import type { SourceAverage } from './snapshot.ts'

/** A rolling average: a new value counts for a fifth. */
const OLD_SHARE = 0.8

/** Before the first value it is NaN: a field that is always a number is changed in its place, without garbage. */
export function rolling(averageMs: number, ms: number): number {
  return Number.isNaN(averageMs) ? ms : averageMs * OLD_SHARE + ms * (1 - OLD_SHARE)
}

interface Average {
  readonly queue: string | null
  readonly name: string
  processed: number
  averageMs: number
}

/** What a worker writes down of its runs. */
export class WorkerStats {
  readonly counters: WorkerCounters = {
    discovery_attempts: 0,
    claim_conflicts: 0,
    processed: 0,
    files_processed: 0,
    errors: 0,
    consecutive_errors: 0,
    fenced_writes: 0,
    unvisited_steps: 0,
  }
  averageMs = Number.NaN
  /** By queue, then by name; null: the source is a discovery. */
  readonly #averages = new Map<string | null, Map<string, Average>>()
  /** As they came. */
  readonly #inOrder: Average[] = []
  /** Mostly it is the same as the last time, and this is asked for every item. */
  #last: Average | undefined
  #trouble: ResourceError | undefined

  /** A run whose outcome was this worker's to settle has ended. */
  ran(attempt: Attempt, outcome: AttemptOutcome, ms: number): void {
    const { counters } = this
    if (outcome.kind === 'completed') {
      if (counters.consecutive_errors > 0) this.#recovered()
    } else if (outcome.kind === 'failed') counters.errors += 1
    else return
    counters.processed += 1
    if (attempt.queue === null) counters.files_processed += 1
    this.averageMs = rolling(this.averageMs, ms)
    const average = this.#averageOf(attempt)
    average.processed += 1
    average.averageMs = rolling(average.averageMs, ms)
  }

  /** Runs that waited for the same load fail with the same error, which counts once. Answers how many in a row there are. */
  broke(error: ResourceError): number {
    if (error !== this.#trouble) this.counters.consecutive_errors += 1
    this.#trouble = error
    return this.counters.consecutive_errors
  }

  sources(): SourceAverage[] {
    return this.#inOrder.map(({ queue, name, averageMs, processed }) => ({
      source: queue === null ? name : `${queue}/${name}`,
      averageMs,
      processed,
    }))
  }

  #recovered(): void {
    this.counters.consecutive_errors = 0
    this.#trouble = undefined
  }

  /** As many as there are names of tasks, by the queues they come from. */
  #averageOf({ name, queue }: Attempt): Average {
    const last = this.#last
    if (last !== undefined && last.name === name && last.queue === queue) return last
    this.#last = this.#averages.get(queue)?.get(name) ?? this.#begin(queue, name)
    return this.#last
  }

  #begin(queue: string | null, name: string): Average {
    const names = this.#averages.get(queue) ?? new Map<string, Average>()
    const average = { name, queue, processed: 0, averageMs: Number.NaN }
    this.#averages.set(queue, names.set(name, average))
    this.#inOrder.push(average)
    return average
  }
}
