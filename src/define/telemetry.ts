import type { Failure } from '../model/task.ts'

/** Travels with a task: where it came from, in the words of whoever traces (`{ traceparent: '00-…' }`). */
export type Carrier = Readonly<Record<string, string>>

/**
 * Follows work from whoever enqueues it to whoever runs it, in any process. The engine knows no tracer:
 * `gleaner/telemetry` has this for OpenTelemetry.
 */
export interface Telemetry {
  /** Somebody enqueues. */
  enqueueing(batch: EnqueuedBatch): Enqueueing
  /** An attempt begins, at a task or at a row. */
  running(attempt: TracedAttempt): Running
  /** Calls `work` as a part of what a request came from. */
  continuing<T>(headers: Carrier, work: () => T): T
}

export interface EnqueuedBatch {
  /** Of the task. */
  name: string
  queue: string
  count: number
}

export interface Enqueueing {
  /** Null: nothing is to be stored. */
  readonly carrier: Carrier | null
  /** Of each task: new, or the one that holds its key. */
  enqueued(ids: readonly string[]): void
  failed(error: unknown): void
}

export interface TracedAttempt {
  /** Of the task, or of the row: `<discovery>/<key>`. */
  id: string
  /** Of the task, or of the discovery. */
  name: string
  /** Null for a row. */
  queue: string | null
  attempt: number
  maxAttempts: number
  /** What was stored when it was enqueued. */
  carrier: Carrier | null
}

export interface Running {
  /** Calls the handler: what it begins is a part of this attempt. */
  within<T>(handler: () => T): T
  /** The handler has returned; what became of it is known only when that is committed. */
  returned(): void
  /** The first that is told counts. */
  ended(how: AttemptEnd): void
}

/** `later`: it asked for another time. `returned`: handed back unfinished. `changed`, `gone`: the row was, meanwhile. */
export type AttemptEnd =
  | { kind: 'completed' | 'cancelled' | 'later' | 'returned' | 'claim-lost' | 'changed' | 'gone' }
  | { kind: 'failed'; error: Failure }
  | { kind: 'retrying'; error: Failure; afterMs: number }
