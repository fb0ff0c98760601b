import type { Change } from '../../ports/change.ts'
import type { Database } from './database.ts'

/** What somebody waits for is notified for so long; whoever still waits says so again in time. */
const LEASE_MS = 15_000
const AGAIN_MS = 5_000
/** An exchange that began before may not know of it. */
const LOOK_AGAIN_MS = 25

/** Whether a process waits for tasks to end, in the exchange of a worker. */
export const IS_AWAITED = `(SELECT value > gleaner.now_ms() FROM gleaner.settings WHERE key = 'awaited')`

/**
 * Says in the database that this process waits for ends. Otherwise workers notify nobody of them: each notification makes all commits of
 * the server wait in line, and wakes each process that listens.
 */
export class Awaited {
  readonly #database: Database
  readonly #tell: (change: Change) => void
  #again: NodeJS.Timeout | undefined
  #isWaiting = false
  #saidUntilMs = Number.NEGATIVE_INFINITY

  constructor(database: Database, tell: (change: Change) => void) {
    this.#database = database
    this.#tell = tell
  }

  set isWaiting(isWaiting: boolean) {
    this.#isWaiting = isWaiting
    if (isWaiting) this.#say()
  }

  /** Losing it costs latency only: whoever waits also looks now and then. */
  #say(): void {
    if (!this.#isWaiting || this.#again !== undefined) return
    const isKnown = performance.now() < this.#saidUntilMs - LEASE_MS + AGAIN_MS
    this.#again = setTimeout(() => {
      this.#again = undefined
      this.#say()
    }, AGAIN_MS).unref()
    if (!isKnown) void this.#write().catch(() => {})
  }

  async #write(): Promise<void> {
    const isNew = performance.now() > this.#saidUntilMs
    await this.#database.together(
      (sql) =>
        sql.run(
          `UPDATE gleaner.settings SET value = pg_catalog.int8larger(value, gleaner.now_ms() + ${LEASE_MS}) WHERE key = 'awaited'`,
        ),
      { durable: false },
    )
    this.#saidUntilMs = performance.now() + LEASE_MS
    if (!isNew) return
    const look = () => this.#isWaiting && this.#tell({ kind: 'elsewhere', only: 'ended' })
    look()
    setTimeout(look, LOOK_AGAIN_MS).unref()
  }

  close(): void {
    this.#isWaiting = false
    clearTimeout(this.#again)
  }
}
