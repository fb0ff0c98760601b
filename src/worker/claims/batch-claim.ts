import type { Context, Tx } from '../../define/types.ts'
import type { Duration } from '../../duration.ts'
import type { Attempt } from '../attempt/attempt.ts'
import type { BatchInHand } from './batch-in-hand.ts'
import type { PulledClaim } from './pulled-claim.ts'

/** One of the claims of a batch. */
export class BatchClaim implements PulledClaim {
  readonly #attempt: Attempt
  readonly #batch: BatchInHand
  readonly id: string
  readonly name: string
  readonly queue: string | null
  readonly input: unknown
  readonly attempt: number
  readonly fence: number

  constructor(attempt: Attempt, batch: BatchInHand) {
    this.#attempt = attempt
    this.#batch = batch
    const { claim, name, queue } = attempt
    this.id = claim.id
    this.name = name
    this.queue = queue
    this.input = attempt.given
    this.attempt = claim.attempt
    this.fence = claim.fence
  }

  get signal(): AbortSignal {
    return this.#attempt.context.signal
  }

  get log(): Context['log'] {
    return this.#attempt.context.log
  }

  progress(fraction: number, message?: string): Promise<void> {
    return this.#attempt.context.progress(fraction, message)
  }

  async complete(result?: unknown, effects?: (tx: Tx) => void | Promise<void>): Promise<void> {
    if (effects === undefined) await this.#batch.complete(this.#attempt, result)
    else await this.#attempt.context.complete(result, effects)
  }

  fail(error: unknown, { retry }: { retry?: boolean | Duration } = {}): Promise<void> {
    return this.#batch.fail(this.#attempt, error, retry)
  }

  release(): Promise<void> {
    return this.#batch.release(this.#attempt)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (!this.#attempt.settled) await this.release()
  }
}
