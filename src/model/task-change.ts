import { isFinished, type TaskStatus } from './task.ts'

/** A task as far as it decides whether an operator can change it. */
export interface Changeable {
  readonly id: string
  readonly status: TaskStatus
  /** A worker holds it. */
  readonly held: boolean
  /** Its worker was asked to stop. */
  readonly cancelRequested: boolean
}

/** `keyHeldBy`: the task that holds its key, if that is another one. */
export type RetryDecision = 'retry' | 'not-finished' | { keyHeldBy: string }
export type CancelDecision = 'cancel' | 'request' | 'requested-before' | 'finished'
export type RemoveDecision = 'remove' | 'running'

/** `keyHolder`: the task that holds the key of this one, if there is a key and a holder. */
export function decideRetry({ id, status }: Changeable, keyHolder: string | undefined): RetryDecision {
  if (!isFinished(status)) return 'not-finished'
  return keyHolder === undefined || keyHolder === id ? 'retry' : { keyHeldBy: keyHolder }
}

/** A waiting task is cancelled at once. The worker that holds a task is asked to stop. */
export function decideCancel({ status, held, cancelRequested }: Changeable): CancelDecision {
  if (isFinished(status)) return 'finished'
  if (!held) return 'cancel'
  return cancelRequested ? 'requested-before' : 'request'
}

export function decideRemove({ held }: Changeable): RemoveDecision {
  return held ? 'running' : 'remove'
}
