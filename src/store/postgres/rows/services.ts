import type { Database } from '../server/database.ts'
import type { ServerLife } from '../server/server-life.ts'
import type { TransactionOptions } from '../server/settings.ts'
import type { DiscoveryCache } from './discovery-cache.ts'
import type { RowPreconditions } from './preconditions.ts'

/** What the verbs for rows share. */
export interface RowServices {
  database: Database
  book: DiscoveryCache
  turns: RowTurns
  life: ServerLife
  clockMs: () => number | null
  /** How often something to do was told of. */
  wakes: () => number
  /** The last one of this store: what is probably so. */
  seen: { outlook: RowPreconditions | null }
}

/** Which discovery is next, of those that a worker has. */
export class RowTurns {
  readonly #next = new WeakMap<readonly string[], number>()

  of(discoveries: readonly string[]): string[] {
    const first = this.#next.get(discoveries) ?? 0
    return [...discoveries.slice(first), ...discoveries.slice(0, first)]
  }

  served(discoveries: readonly string[], name: string): void {
    this.#next.set(discoveries, (discoveries.indexOf(name) + 1) % discoveries.length)
  }
}

/** Nothing of it is promised: whatever is lost with a crash of the server is done again. */
export const BACKGROUND: TransactionOptions = {
  durable: false,
  byIndex: true,
  quiet: true,
  runsUserSql: true,
}
/** A row that the user keeps locked is left alone, before his own transaction is the one that is given up for a deadlock. */
export const BACKGROUND_SHORT_LOCK: TransactionOptions = { ...BACKGROUND, lockTimeoutMs: 250 }
