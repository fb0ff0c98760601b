import type { Failure } from '../model/task.ts'

/** Trace context that is stored with a task: the headers of the tracer, for example `{ traceparent: '00-…' }`. */
export type Carrier = Readonly<Record<string, string>>

/**
 * Traces work from the caller that enqueues it to the worker that runs it, across processes. The engine does not depend on a tracer:
 * `gleaner/telemetry` implements this interface for OpenTelemetry.
 */
export interface Telemetry {
  /** Called before tasks are enqueued. */
  enqueueing(batch: EnqueuedBatch): Enqueueing
  /** Called when an attempt at a task or a row begins. */
  running(attempt: TracedAttempt): Running
  /** Calls `work` inside the trace that the headers of a request carry. */
  continuing<T>(headers: Carrier, work: () => T): T
}

/** What is about to be enqueued, for a tracer. */
export interface EnqueuedBatch {
  /** The name of the task. */
  name: string
  /** The queue of the tasks. */
  queue: string
  /** How many tasks. */
  count: number
}

/** What a tracer returns for one call of `enqueue`. */
export interface Enqueueing {
  /** The trace context to store with the tasks. Null: none. */
  readonly carrier: Carrier | null
  /** Receives the id of each task: of the new one, or of the one that holds its key. */
  enqueued(ids: readonly string[]): void
  /** Called with the error if nothing was enqueued. */
  failed(error: unknown): void
}

/** An attempt that begins, for a tracer. */
export interface TracedAttempt {
  /** The id of the task, or `<discovery>/<key>` for a row. */
  id: string
  /** The name of the task or the discovery. */
  name: string
  /** The queue of the task. Null for a row. */
  queue: string | null
  /** The number of this attempt, from 1. */
  attempt: number
  /** How many attempts there are at most. */
  maxAttempts: number
  /** The trace context that was stored when the task was enqueued. */
  carrier: Carrier | null
}

/** What a tracer returns for one attempt. */
export interface Running {
  /** Calls the handler. Spans that the handler starts belong to this attempt. */
  within<T>(handler: () => T): T
  /** Called when the function of a step is called. A step whose result was kept before is not traced. */
  step?(step: TracedStep): RunningStep
  /** Called when the handler has returned. The outcome is known only after the commit. */
  returned(): void
  /** Called with the outcome. Only the first call counts. */
  ended(how: AttemptEnd): void
}

/** A step that begins, for a tracer. */
export interface TracedStep {
  /** Its name in the code. */
  name: string
  /** From 1: a name that is used again is numbered. */
  number: number
}

/** What a tracer returns for one step. */
export interface RunningStep {
  /** Calls the function of the step. Spans that it starts belong to this step. */
  within<T>(work: () => T): T
  /** Called when the step is kept, or with the error that it failed with. */
  ended(failure?: { error: unknown }): void
}

/**
 * `later`: the handler asked to run later. `returned`: the item went back unfinished. `changed`, `gone`: the row was edited or removed
 * during the run.
 */
export type AttemptEnd =
  | {
      kind: 'completed' | 'cancelled' | 'later' | 'suspended' | 'returned' | 'claim-lost' | 'changed' | 'gone'
    }
  | { kind: 'failed'; error: Failure }
  | { kind: 'retrying'; error: Failure; afterMs: number }
