import type { Clock } from '../clock.ts'
import type { Uses } from '../define/resource.ts'
import type { Enqueue, Tx } from '../define/types.ts'
import type { NewLogLine } from '../store/contract.ts'
import type { Attempt } from './attempt.ts'
import type { AttemptOutcome } from './sources/source.ts'

/** What a running item may ask of its worker. */
export interface RunServices {
  readonly clock: Clock
  /** In [0, 1): spreads retries. */
  readonly random: () => number
  readonly payloadLimit: number
  readonly enqueue: Enqueue
  /** Takes part in the transaction that completes the item. */
  enqueueWithin(tx: Tx): Enqueue
  /** Waits until it has what its handler needs; its time begins then. */
  acquire(attempt: Attempt, uses: Uses): Promise<void>
  note(attempt: Attempt, line: NewLogLine): void
  progress(attempt: Attempt, fraction: number, message: string | null): void
  /** An error: nothing was written, and nothing more can be of this run. */
  completeWith(attempt: Attempt, outcome: AttemptOutcome, effects: (tx: Tx) => unknown): Promise<Error | null>
}
