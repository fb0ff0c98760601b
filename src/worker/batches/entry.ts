import type { Attempt } from '../attempt/attempt.ts'

/** An attempt that waits for a call, or is in one. Its promise is what its handler would have returned. */
export class CallEntry {
  readonly attempt: Attempt
  readonly input: unknown
  readonly result: Promise<unknown>
  readonly #resolve: (result: unknown) => void
  readonly #reject: (error: unknown) => void
  #isOver = false

  constructor(attempt: Attempt, input: unknown) {
    this.attempt = attempt
    this.input = input
    const { promise, resolve, reject } = Promise.withResolvers<unknown>()
    this.result = promise
    this.#resolve = resolve
    this.#reject = reject
  }

  /** It needs no further call: it has its result, was aborted, or `complete` has settled it. */
  get isOver(): boolean {
    return this.#isOver || this.attempt.settled
  }

  get isAborted(): boolean {
    return this.attempt.context.abortReason !== undefined
  }

  resolve(result: unknown): void {
    this.#isOver = true
    this.#resolve(result)
  }

  reject(error: unknown): void {
    this.#isOver = true
    this.#reject(error)
  }

  /** Ends it if its result is not needed any more: `complete` has settled it, or it was aborted. */
  release(): void {
    if (this.#isOver) return
    if (this.isAborted) this.reject(this.attempt.context.abortReason)
    else if (this.attempt.settled) this.resolve(undefined)
  }
}
