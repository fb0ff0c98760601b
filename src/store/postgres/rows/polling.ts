import type { Sql } from '../server/sql.ts'
import type { DiscoveryCache } from './discovery-cache.ts'

/** How soon a row is found that the user wrote, where no trigger tells of it. */
const POLL_MS = 500
/** Workers ask more often than that, however little there is to do. */
const ASKED_WITHIN_MS = 60_000

/**
 * Nobody says when the user writes a row, unless his table has a trigger that does. So, while workers here rest, the server
 * is asked which transactions are over: if they are the same, nothing was written, and looking would be in vain. Not how far its log is: that moves
 * before what was committed can be seen, for as long as the disk takes.
 */
export class WritePolling {
  readonly #sql: Sql
  readonly #book: DiscoveryCache
  readonly #wake: () => void
  /** Until when each discovery is of interest. */
  readonly #untilMs = new Map<string, number>()
  #timer: NodeJS.Timeout | undefined
  #over: string | null = null
  #closed = false

  constructor(sql: Sql, book: DiscoveryCache, wake: () => void) {
    this.#sql = sql
    this.#book = book
    this.#wake = wake
  }

  /** A worker looked for rows of these. */
  asked(discoveries: readonly string[]): void {
    const untilMs = performance.now() + ASKED_WITHIN_MS
    for (const name of discoveries) this.#untilMs.set(name, untilMs)
    this.#wait()
  }

  close(): void {
    this.#closed = true
    clearTimeout(this.#timer)
  }

  #wait(): void {
    if (this.#closed || this.#untilMs.size === 0) return
    this.#timer ??= setTimeout(() => void this.#poll(), POLL_MS).unref()
  }

  async #poll(): Promise<void> {
    const nowMs = performance.now()
    for (const [name, untilMs] of this.#untilMs) if (untilMs < nowMs) this.#untilMs.delete(name)
    try {
      const known = await Promise.all([...this.#untilMs.keys()].map((name) => this.#book.get(name)))
      if (!known.every(({ tells }) => tells)) await this.#look()
    } catch {
      // The next claim reports what is wrong.
    }
    this.#timer = undefined
    this.#wait()
  }

  async #look(): Promise<void> {
    const row = await this.#sql.row<{ over: string }>('SELECT pg_catalog.pg_current_snapshot()::text AS over')
    const { over } = row!
    // The first time as well: who asked before it may have looked too early.
    const moved = this.#over !== over
    this.#over = over
    if (moved && !this.#closed) this.#wake()
  }
}
