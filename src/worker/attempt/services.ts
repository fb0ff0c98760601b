import type { Clock } from '../../clock.ts'
import type { Uses } from '../../define/resource.ts'
import type { Enqueue, Tx } from '../../define/types.ts'
import type { Effects, NewLogLine } from '../../store/ports/exchange.ts'
import type { StepServices } from '../steps/services.ts'
import type { Attempt } from './attempt.ts'
import type { AttemptOutcome } from './source.ts'

/** What an attempt may ask of the worker or the claim by hand that began it. */
export interface AttemptServices {
  /** The id of the worker. */
  readonly worker: string
  readonly clock: Clock
  /** In [0, 1): spreads retries. */
  readonly random: () => number
  readonly payloadLimit: number
  readonly enqueue: Enqueue
  /** Takes part in the transaction that completes the item. */
  readonly enqueueWithin: (tx: Tx) => Enqueue
  /** Null: this attempt has no handler that could use steps. */
  readonly steps: StepServices | null
  /** Waits until the attempt has the resources that its handler needs. */
  acquire(attempt: Attempt, uses: Uses): Promise<void>
  note(attempt: Attempt, line: NewLogLine): void
  progress(attempt: Attempt, fraction: number, message: string | null): void
  /** An error: nothing was written, and this attempt can write nothing more. */
  completeWith(attempt: Attempt, outcome: AttemptOutcome, effects: Effects): Promise<Error | null>
}
