import type { Store } from '../../src/store/ports/store.ts'

/** A fresh, empty database for one test, and what a test needs around it. */
export interface TestDatabase {
  /** Another store on the same database: another claimant. Closed together with the database. */
  open(options?: { random?: () => number }): Promise<Store>
  /** The time of all these stores. */
  readonly clock: MovableClock
  /** How another OS process opens the same database, on real time. */
  readonly elsewhere: Elsewhere
  /** A table of the user's own in the same database. */
  readonly notes: Notes
  /** Others, as a test needs them. */
  readonly tables: UserTables
  /** Whether `completeWith` and `within` run synchronously, as the driver does. */
  readonly synchronous: boolean
  /** A transaction on a connection of the user's own: commits, or rolls back when `work` throws. */
  transact<T>(work: (tx: unknown) => Promise<T>): Promise<T>
  /** Closes all its stores and leaves nothing behind. */
  destroy(): Promise<void>
}

export interface MovableClock {
  now(): number
  advance(ms: number): void
}

/** `module` (a file URL) exports `openStore(database, options)`. */
export interface Elsewhere {
  module: string
  database: string
}

export interface Notes {
  write(tx: unknown, text: string): unknown
  all(): Promise<string[]>
}

/** On a connection of the user's own, in words that both databases understand. */
export interface UserTables {
  /** What a discovery calls a table that was made here. */
  named(table: string): string
  run(sql: string): Promise<void>
  /** Numbers up to 2^31, text and null. */
  rows(sql: string): Promise<Record<string, any>[]>
  /** All that is remembered of rows: whoever does it must do no harm. */
  deleteLedger(): Promise<void>
  /** A row edited by the handler itself, in the transaction that completes it. */
  within(tx: unknown, sql: string): unknown
}
