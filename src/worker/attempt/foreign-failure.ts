/** A handler outside this process failed: in its own words, and with its own wish when to try again. */
export class ForeignFailure extends Error {
  /** Null: as the task's policy says. */
  readonly retryAfterMs: number | null

  constructor(message: string, options: { stack: string | null; retryAfterMs: number | null }) {
    super(message)
    this.name = 'ForeignFailure'
    this.retryAfterMs = options.retryAfterMs
    // Ours would only show the bridge.
    this.stack = options.stack ?? undefined
  }
}
