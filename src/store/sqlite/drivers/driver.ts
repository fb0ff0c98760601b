import type { Duration } from '../../../duration.ts'
import type { SqliteLibrary } from '../../ports/database.ts'

/** Options for SQLite. */
export interface SqliteSettings {
  /**
   * The SQLite library. Default: better-sqlite3 if the app has installed it, otherwise `node:sqlite`. If the app opens the same file, it must be the app's: `{ module: path }` names
   * another copy, or anything with the same interface.
   */
  driver?: SqliteLibrary
  /** The page cache of a connection, in bytes. Default 6 MB. */
  cacheSize?: number
  /** How much of the file is mapped into memory, in bytes. Default 0: reads go through the page cache. */
  mmapSize?: number
  /** How long a write waits for the write lock of another process before it fails with `STORE_BUSY`. Default 1 min. */
  busyTimeout?: Duration
}

/** What the options say, checked. */
export interface SqliteTuning {
  cacheBytes?: number | undefined
  mmapBytes?: number | undefined
  busyLimitMs?: number | undefined
}

/** A library that is loaded. */
export interface SqliteDriver {
  /** How another thread or process loads the same one. */
  readonly library: SqliteLibrary
  open(path: string, options: { readonly: boolean }): SqliteDatabase
  /** The user's own connection; null: it is not of this library. */
  adopt(connection: unknown): SqliteDatabase | null
}

/** A connection, in the words of better-sqlite3, whose own connections need nothing around them. */
export interface SqliteDatabase {
  /** Of the file; absolute unless it was opened by another name. */
  readonly name: string
  readonly inTransaction: boolean
  prepare(sql: string): SqliteStatement
  exec(sql: string): unknown
  pragma(source: string, options?: { simple?: boolean }): unknown
  function(name: string, options: FunctionOptions, run: (...values: any[]) => unknown): unknown
  /** `progress` returns how many pages are next; `rate`: the same, for a library that must know in advance. */
  backup(path: string, options: DriverBackupOptions): Promise<{ totalPages: number }>
  close(): unknown
}

export interface FunctionOptions {
  varargs: boolean
  deterministic: boolean
  safeIntegers: boolean
}

export interface DriverBackupOptions {
  rate: number
  progress(info: { totalPages: number; remainingPages: number }): number
}

export interface SqliteStatement {
  /** False if it may write. */
  readonly readonly: boolean
  run(...values: any[]): { changes: number; lastInsertRowid: number | bigint }
  get(...values: any[]): any
  all(...values: any[]): any[]
  iterate(...values: any[]): IterableIterator<any>
  columns(): { name: string }[]
  /** The first column alone. */
  pluck(on?: boolean): this
  /** Rows as arrays. */
  raw(on?: boolean): this
  /** Integers as they are. */
  safeIntegers(on?: boolean): this
}
