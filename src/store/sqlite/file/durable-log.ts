import { closeSync, openSync } from 'node:fs'
import { mustReopen, StoreError } from '../../../errors.ts'
import { cutLog, rewriteLog, type Verified } from './log-frames.ts'
import { isBusy, syncFailed } from './sql-errors.ts'
import type { Statements } from './statements.ts'

/** Somebody commits just between two of our looks that often in a row: there is time for another attempt. */
const LOOKS_MAX = 10
/** The first sync of a file that was just opened may report an error of the past. */
const SYNCS_MAX = 2

/** Frames in the log, and how many of them were copied into the database; `busy`: it could not do all that was asked. */
export interface LogCheckpoint {
  busy: number
  log: number
  checkpointed: number
}

/**
 * Whether a sync of the write-ahead log makes durable all that is in it. Not so after a failed sync: the kernel has marked
 * pages as written that are not on the disk, and the next sync succeeds without them. Recovery ends at the first
 * frame that is missing, so that a power cut would take back everything behind it; and a checkpoint would leave a
 * database that is newer than the log that is replayed over it.
 *
 * The kernel reports a failed write once to every descriptor that was open at the time, and to none that was opened later.
 * So nothing is taken for granted in the beginning either. See decision 41.
 */
export class DurableLog {
  readonly #db: Statements
  #isTrusted = false
  #hasFailed = false

  constructor(db: Statements) {
    this.#db = db
  }

  get isTrusted(): boolean {
    return this.#isTrusted
  }

  /** A sync has failed since it was last trusted. */
  get hasFailed(): boolean {
    return this.#hasFailed
  }

  failed(): void {
    this.#isTrusted = false
    this.#hasFailed = true
  }

  /**
   * Writes again what is in the log, and syncs it. False: somebody else is writing; try again. Throws if it cannot be synced,
   * or if what was in it is gone.
   */
  ensure(): boolean {
    if (this.#isTrusted) return true
    for (let look = 0; look < LOOKS_MAX; look++) {
      const answer = this.#ensureIfUnchanged()
      if (answer !== 'changed') return answer === 'durable'
    }
    return false
  }

  #ensureIfUnchanged(): 'durable' | 'busy' | 'changed' {
    try {
      const version = this.#version()
      const seen = this.#db.sql('PRAGMA wal_checkpoint(NOOP)').get() as LogCheckpoint
      if (seen.log <= 0) return this.#trust()
      this.#db.sql('BEGIN IMMEDIATE').run()
      if (this.#version() !== version) return 'changed'
      this.#rewrite(seen)
      return this.#trust()
    } catch (error) {
      if (isBusy(error)) return 'busy'
      throw error
    } finally {
      if (this.#db.raw.inTransaction) this.#db.sql('ROLLBACK').run()
    }
  }

  #trust(): 'durable' {
    this.#isTrusted = true
    this.#hasFailed = false
    return 'durable'
  }

  /** Changes when another connection has committed. */
  #version(): unknown {
    return this.#db.scalar('PRAGMA data_version').get()
  }

  #rewrite(seen: LogCheckpoint): void {
    for (let sync = 1; ; sync++) {
      // The log's own file has no locks that closing it would take away.
      const file = openSync(`${this.#db.fileName()}-wal`, 'r+')
      try {
        const verified = rewriteLog(file, seen.log)
        if (verified.frames < seen.log) throw this.#damaged(file, seen, verified)
        return
      } catch (error) {
        if (mustReopen(error)) throw error
        if (sync === SYNCS_MAX) throw syncFailed(error)
      } finally {
        closeSync(file)
      }
    }
  }

  /** What is in the database already must not be missing in the log: then it stays as it is. */
  #damaged(file: number, seen: LogCheckpoint, verified: Verified): StoreError {
    if (verified.committed >= seen.checkpointed) cutLog(file, verified)
    return logLost(verified.frames, seen.log)
  }
}

/** Processes that have the database open believe in what is gone. */
function logLost(frames: number, expected: number): StoreError {
  return new StoreError(
    `after a failed sync, the operating system lost ${expected - frames} of the ${expected} frames of the write-ahead log`,
    {
      code: 'STORE_LOST',
      hint: 'Check the disk. Stop every process that has this database open, then start them again: SQLite recovers what is whole, which is at least what was acknowledged. Then run gleaner check.',
    },
  )
}
