import type { AttemptOutcome, Failure } from './task.ts'
import type { Wait } from './wait.ts'

/** How a handler's run ended, as the worker saw it. */
export type Outcome =
  | { kind: 'completed'; result: string | null }
  /** `retryAfterMs` is null when the failure is final whatever attempts are left. */
  | { kind: 'failed'; failure: Failure; retryAfterMs: number | null }
  /** Not a failure of the item: the handler asked for another time, or its worker is broken. The attempt is returned. */
  | { kind: 'later'; afterMs: number; failure?: Failure }
  /** The run waits for one of these. `afterMs`: it is due then at the latest. Null: never without one. The attempt is returned. */
  | { kind: 'waits'; waits: readonly Wait[]; afterMs: number | null }
  /** Handed back unfinished or never started. The attempt is returned. */
  | { kind: 'returned' }
  | { kind: 'cancelled' }

/** What becomes of a task: data that every store executes in the same way. */
export type Transition =
  | { to: 'completed'; result: string | null }
  | { to: 'failed'; failure: Failure; outcome: AttemptOutcome; crashes: number }
  | { to: 'cancelled'; attempts: number }
  | Suspended
  | Waiting

/** It waits for one of these, and no worker holds it. */
export interface Suspended {
  to: 'suspended'
  waits: readonly Wait[]
  /** Null: only what it waits for resumes it. */
  afterMs: number | null
  attempts: number
}

/** Back to waiting: at once, or when `afterMs` have passed. */
export interface Waiting {
  to: 'waiting'
  afterMs: number
  /** Given back, it stands where it stood; otherwise it is ranked anew when it becomes queued. */
  keepsPlace: boolean
  attempts: number
  crashes: number
  /** Next claimed alone, by an otherwise empty worker: it may be what took the last one down. */
  suspect: boolean
  failure: Failure | null
  /** What the history says of the attempt; null when it never started. */
  outcome: AttemptOutcome | null
}

/** What a store knows of a held task. */
export interface Held {
  id: string
  attempts: number
  maxAttempts: number
  crashes: number
  suspect: boolean
  /** Its handler is known to have been started. */
  started: boolean
  cancelRequested: boolean
  /** Where it has one of its own. */
  crashLimit?: number
}

/** The one place that says what follows from an outcome. */
export function decide(task: Held, outcome: Outcome): Transition {
  if (outcome.kind === 'completed') return { to: 'completed', result: outcome.result }
  // A cancelled task does not run again, whatever the outcome of its last run.
  if (outcome.kind === 'cancelled' || task.cancelRequested) return cancelled(task)
  switch (outcome.kind) {
    case 'failed':
      return afterFailure(task, outcome.failure, outcome.retryAfterMs)
    case 'later':
      return {
        ...returned(task, 'later'),
        afterMs: outcome.afterMs,
        keepsPlace: false,
        failure: outcome.failure ?? null,
      }
    case 'waits':
      return { to: 'suspended', waits: outcome.waits, afterMs: outcome.afterMs, attempts: task.attempts - 1 }
    case 'returned':
      return returned(task, task.started ? 'returned' : null)
  }
}

/** A task that the end of no live session would find. A damaged row may say that no attempt was ever made. */
export function giveBackDamaged(task: Held): Transition {
  return decide({ ...task, attempts: Math.max(task.attempts, 1), started: false }, { kind: 'returned' })
}

/** An attempt that never started does not count. */
export function cancelled(task: Held): Transition {
  return { to: 'cancelled', attempts: task.started ? task.attempts : task.attempts - 1 }
}

function afterFailure(task: Held, failure: Failure, retryAfterMs: number | null): Transition {
  if (retryAfterMs === null || task.attempts >= task.maxAttempts) {
    return { to: 'failed', failure, outcome: failure.kind, crashes: task.crashes }
  }
  return {
    to: 'waiting',
    afterMs: retryAfterMs,
    keepsPlace: false,
    attempts: task.attempts,
    crashes: task.crashes,
    // It ran to its end without taking the worker down: no longer suspected.
    suspect: false,
    failure,
    outcome: failure.kind,
  }
}

/** Back to waiting as if this attempt had never been. */
export function returned(task: Held, outcome: AttemptOutcome | null): Waiting {
  return {
    to: 'waiting',
    afterMs: 0,
    keepsPlace: true,
    attempts: task.attempts - 1,
    crashes: task.crashes,
    suspect: task.suspect,
    failure: null,
    outcome,
  }
}
