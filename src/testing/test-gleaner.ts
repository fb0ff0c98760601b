import type { SqliteTx, Task } from '../define/types.ts'
import type { Duration } from '../duration.ts'
import type { Gleaner, GleanerOptions } from '../engine/gleaner.ts'
import type { RecordOf } from './records.ts'

export interface TestGleanerOptions extends Omit<GleanerOptions, 'database' | 'postgres'> {
  /** What time it is at first. Default: 1 January 2030, so that it is easy to recognise. */
  now?: Date
  /** Makes tables of your own, before anything looks for them: `(db) => db.exec('CREATE TABLE …')`. */
  setup?: (db: SqliteConnection) => void
  /** Runs without time passing, beyond which work is held to be endless. Default 10 000. */
  runLimit?: number
  /** Real time to wait for a handler that does not return. Default 4 s. */
  patience?: Duration
}

/** As much of a better-sqlite3 connection as a test needs. */
export interface SqliteConnection extends SqliteTx {
  exec(sql: string): unknown
  transaction<A extends unknown[], T>(
    work: (...args: A) => T,
  ): ((...args: A) => T) & {
    immediate(...args: A): T
  }
}

/** A Gleaner of a test's own: in memory, with a time that stands still until it is moved. */
export interface TestGleaner extends Gleaner, AsyncDisposable {
  /** The database it is in: for tables of your own, for what `ctx.complete` writes, and for `within(t.db)`. */
  readonly db: SqliteConnection
  /** The engine's time in milliseconds, as in `createdAt` or `finishedAt`. */
  now(): number
  /** Lets time pass. What becomes due on the way is run at its own time, and awaited. */
  advance(duration: Duration): Promise<void>
  /** Runs what is due now, and what that enqueues, until nothing is left. What is delayed is left alone. */
  runUntilIdle(): Promise<void>
  /** Waits in the engine's time: how a handler, or what stands in for a slow service, takes long. */
  sleep(duration: Duration, options?: { signal?: AbortSignal }): Promise<void>
  /** What waits to be run, now or later, in the order in which it was enqueued. */
  enqueued<I = any, R = any>(task?: Task<I, R>): Promise<RecordOf<I, R>[]>
  completed<I = any, R = any>(task?: Task<I, R>): Promise<RecordOf<I, R>[]>
  failed<I = any, R = any>(task?: Task<I, R>): Promise<RecordOf<I, R>[]>
  /** What still runs is told to stop, and not waited for. */
  close(): Promise<void>
}
