import type { Clock } from '../../clock.ts'
import type { Tx } from '../../define/types.ts'
import type { Outcome } from '../../model/outcome.ts'

/** What steps need of the attempt that they belong to. */
export interface StepAttempt {
  readonly id: string
  readonly fence: number
  readonly name: string
  readonly claim: { readonly attempt: number }
  readonly services: { readonly clock: Clock; readonly random: () => number }
  readonly context: StepRun
  /** Only present when the engine traces. */
  readonly trace?: { step(name: string, number: number): StepSpan | undefined } | undefined
  /** Ends the attempt although its handler has not returned. */
  leave(outcome: Outcome): void
}

interface StepSpan {
  within<T>(work: () => Promise<T>): Promise<T>
}

/** The run that the handler sees. */
interface StepRun {
  readonly abortReason: Error | undefined
  readonly signal: AbortSignal
  abort(reason: Error): Error
  /** Called when the attempt is aborted, at once if it is already. */
  onAbort(told: (reason: Error) => void): void
  /** Whatever the effects enqueue takes part in their transaction. */
  joined(tx: Tx, effects: (tx: Tx) => void | PromiseLike<void>): void | Promise<void>
}
