import type { SqliteTx, Task } from '../define/types.ts'
import type { Duration } from '../duration.ts'
import type { Gleaner, GleanerOptions } from '../engine/gleaner.ts'
import type { RecordOf } from './records.ts'

/** What `openTestGleaner` takes: the options of `openGleaner`, without a database, and these. */
export interface TestGleanerOptions extends Omit<GleanerOptions, 'database' | 'postgres'> {
  /** The time at the start. Default: 1 January 2030, which is easy to recognise. */
  now?: Date
  /** Creates your own tables before the engine checks them: `(db) => db.exec('CREATE TABLE …')`. */
  setup?: (db: SqliteConnection) => void
  /** The largest number of runs while time stands still. Beyond it, the test fails because the work is endless. Default 10 000. */
  runLimit?: number
  /** How long, in real time, to wait for a handler that does not return. Default 4 s. */
  patience?: Duration
}

/** The part of a connection that a test needs, in the words of better-sqlite3. */
export interface SqliteConnection extends SqliteTx {
  /** Runs statements without parameters. */
  exec(sql: string): unknown
  /** Wraps a function in a transaction. */
  transaction<A extends unknown[], T>(
    work: (...args: A) => T,
  ): ((...args: A) => T) & {
    immediate(...args: A): T
  }
}

/** A Gleaner for one test: in memory, with a clock that stands still until the test moves it. */
export interface TestGleaner extends Gleaner, AsyncDisposable {
  /** Its database: for your own tables, for what `ctx.complete` writes, and for `within(t.db)`. */
  readonly db: SqliteConnection
  /** The engine's time in milliseconds, as in `createdAt` or `finishedAt`. */
  now(): number
  /** Moves the clock. Work that becomes due on the way runs at its own time, and the call waits for it. */
  advance(duration: Duration): Promise<void>
  /** Runs all work that is due now, and the work that it enqueues, until none is left. Delayed work does not run. */
  runUntilIdle(): Promise<void>
  /** Waits in the engine's time. Use it in a handler, or in the fake of a slow service, to take time. */
  sleep(duration: Duration, options?: { signal?: AbortSignal }): Promise<void>
  /** Tasks that wait to run, now or later, in the order in which they were enqueued. */
  enqueued<I = any, R = any>(task?: Task<I, R>): Promise<RecordOf<I, R>[]>
  /** Tasks that have completed. */
  completed<I = any, R = any>(task?: Task<I, R>): Promise<RecordOf<I, R>[]>
  /** Tasks that have failed for good. */
  failed<I = any, R = any>(task?: Task<I, R>): Promise<RecordOf<I, R>[]>
  /** Asks running handlers to stop, and closes without waiting for them. */
  close(): Promise<void>
}
