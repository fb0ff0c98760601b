import type { Clock } from '../../clock.ts'
import type { Tx } from '../../define/types.ts'
import type { Outcome } from '../../model/outcome.ts'
import type { StepStore } from '../../store/ports/steps.ts'
import type { Cursors } from './cursors.ts'

/** What the steps of an attempt ask of its worker. */
export interface StepServices {
  readonly store: StepStore
  readonly cursors: Cursors
  /** The largest result, in bytes of JSON. */
  readonly bytesMax: number
  /** Of the worker. Null: it is not known to the database. */
  session(): string | null
  /** Waits before a function is called again. */
  pause(ms: number): Promise<void>
  /** An earlier attempt kept steps under these names, and this one did not come to them. */
  unvisited(attempt: { readonly event: object }, names: readonly string[]): void
}

/** What steps need of the attempt that they belong to. */
export interface StepAttempt {
  readonly id: string
  readonly fence: number
  readonly name: string
  readonly claim: { readonly attempt: number }
  readonly services: { readonly clock: Clock; readonly random: () => number }
  readonly context: StepRun
  /** Ends the attempt although its handler has not returned. */
  leave(outcome: Outcome): void
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
