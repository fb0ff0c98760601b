import type { Clock } from '../clock.ts'
import type { Uses } from '../define/resource.ts'
import type { Enqueue, Tx } from '../define/types.ts'
import type { NewLogLine } from '../store/contract.ts'
import type { Execution } from './attempt.ts'
import type { Ending } from './sources/source.ts'

/** What a running item may ask of its worker. */
export interface Desk {
  readonly clock: Clock
  /** In [0, 1): spreads retries. */
  readonly random: () => number
  readonly payloadLimit: number
  readonly enqueue: Enqueue
  /** Takes part in the transaction that completes the item. */
  enqueueWithin(tx: Tx): Enqueue
  /** Waits until it has what its handler needs; its time begins then. */
  equip(execution: Execution, uses: Uses): Promise<void>
  note(execution: Execution, line: NewLogLine): void
  progress(execution: Execution, fraction: number, message: string | null): void
  /** An error: nothing was written, and nothing more can be of this run. */
  completeWith(execution: Execution, outcome: Ending, effects: (tx: Tx) => unknown): Promise<Error | null>
}
