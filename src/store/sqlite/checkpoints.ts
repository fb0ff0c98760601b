import type { Connection } from './connection.ts'

/** 16 MB of log: small enough to be copied within milliseconds, large enough that busy pages are copied once. */
const FRAMES_MAX = 4_000
/** Looking costs some microseconds. */
const COMMITS_BETWEEN_LOOKS = 16

/**
 * Copies the write-ahead log into the database when it has grown. SQLite would do it by itself, within a commit; but
 * while several processes write, its way never gets to the end of the log: the log grows, and every single commit
 * tries again, with two syncs of the disk. RESTART keeps the writers out for the last few pages, and the log begins
 * anew. Should somebody be in the way, the next look is soon enough.
 */
export class Checkpoints {
  readonly #connection: Connection
  #commits = 0
  #lookIsDue = false

  constructor(connection: Connection) {
    this.#connection = connection
    connection.raw.pragma('wal_autocheckpoint = 0')
  }

  committed(): void {
    this.#commits += 1
    if (this.#commits % COMMITS_BETWEEN_LOOKS !== 0) return
    // Who does nothing but await his own writes keeps the event loop from turning.
    if (this.#lookIsDue) return this.#look()
    // Not at once: whoever waits for this commit is answered first.
    this.#lookIsDue = true
    setImmediate(() => this.#look())
  }

  #look(): void {
    this.#lookIsDue = false
    try {
      if (this.#checkpoint('NOOP').log > FRAMES_MAX) this.#checkpoint('RESTART')
    } catch {
      // Nobody is waiting for it, and what was committed is safe in the log: the next one tries again.
    }
  }

  #checkpoint(mode: 'NOOP' | 'RESTART'): { log: number } {
    return this.#connection.statements.sql(`PRAGMA wal_checkpoint(${mode})`).get() as { log: number }
  }
}
