/**
 * Which SQLite library opens the file. Plain data: it travels to threads and worker processes. `module`: the path of a module like
 * better-sqlite3 (or one that exports `DatabaseSync`).
 */
export type SqliteLibrary = 'better-sqlite3' | 'node:sqlite' | { module: string }

/** How to reach a PostgreSQL server. Plain data: it crosses to the keeper's thread. */
export interface PostgresOptions {
  url: string
  /** Default 'gleaner'. */
  schema?: string
  /** Connections at most; default 10. */
  poolSize?: number
  /** Default 30 s. */
  statementTimeoutMs?: number
  /** Default 10 s. */
  lockTimeoutMs?: number
  connectTimeoutMs?: number
  /** A connection that is dead is noticed within that time; default 20 s. */
  queryTimeoutMs?: number
  /** False behind PgBouncer in transaction mode: no notifications, which costs latency only, and no prepared statements. */
  notify?: boolean
  /** Put a trigger on the tables of discoveries, which tells at once when the app writes a row; default false. */
  wakeTriggers?: boolean
  /** As `pg` takes it: true, or { ca, rejectUnauthorized, … }. */
  ssl?: boolean | object
}
