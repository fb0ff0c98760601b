import type { Context, Tx } from '../../define/types.ts'
import type { Duration } from '../../duration.ts'

/** An item that you claimed by hand. It is yours until you settle it, or until your process ends. `await using` gives it back. */
export interface PulledClaim<I = any, R = any> extends AsyncDisposable {
  /** The id of the task, or `<discovery>/<key>` of the row. */
  readonly id: string
  /** The name of the task, or of the discovery. */
  readonly name: string
  /** The queue of the task. Null for a row. */
  readonly queue: string | null
  /** The input of the task as its schema returned it, or the row. */
  readonly input: I
  /** The number of this attempt, from 1. */
  readonly attempt: number
  /** A number that grows with every claim in this database. Store it beside your own effects, and refuse writes with a lower number. */
  readonly fence: number
  /** Aborts when the task is cancelled, the time-out passes, or the claim is lost. `reason` says which. */
  readonly signal: AbortSignal
  /** Writes a line to the log of the task. */
  readonly log: Context['log']
  /** Reports how far the work is, from 0 to 1. */
  progress(fraction: number, message?: string): Promise<void>
  /**
   * Completes the item. With a callback, your writes and the completion are one transaction: both or neither. Rejects with
   * `ClaimLostError` when the claim was lost, and nothing is written.
   */
  complete(result?: R, effects?: (tx: Tx) => void | Promise<void>): Promise<void>
  /** Fails this attempt. `retry: false`: for good. A duration: another attempt after it. Default: as the retry policy says. */
  fail(error: unknown, options?: { retry?: boolean | Duration }): Promise<void>
  /** Gives the item back unfinished. The attempt does not count. */
  release(): Promise<void>
}

/** Claims of one call. `await using` gives back those that are not settled. */
export type PulledClaims<I = any, R = any> = PulledClaim<I, R>[] & AsyncDisposable
