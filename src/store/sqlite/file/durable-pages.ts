import { closeSync, fstatSync, fsyncSync, openSync, readSync, statSync, writeSync } from 'node:fs'
import type { SqliteDatabase } from '../drivers/driver.ts'
import type { LogCheckpoint } from './durable-log.ts'
import { type NewestPages, newestPages } from './log-frames.ts'
import { isBusy, syncFailed } from './sql-errors.ts'
import type { Statements } from './statements.ts'

/** A disk that fails once often fails again. */
const SYNCS_MAX = 10

/**
 * Whether a checkpoint that succeeds makes durable all that was copied from the log. SQLite syncs the database only after it has copied the
 * whole log. If a program reads an older state or adds to the log meanwhile, a checkpoint copies a part, and counts it as done without a sync.
 * When a later sync of the database fails, the kernel takes these pages for written. SQLite never copies them again: once the rest is
 * copied, the log begins anew, and a power cut leaves a database without them.
 *
 * The kernel does not report a failed write to a descriptor that was opened later. So a connection does not trust in the beginning that what
 * was copied in part is safe, either. See decision 41.
 */
export class DurablePages {
  readonly #db: Statements
  #isTrusted = false
  #hasFailed = false

  constructor(db: Statements) {
    this.#db = db
  }

  /** A sync has failed since it was last trusted. */
  get hasFailed(): boolean {
    return this.#hasFailed
  }

  failed(): void {
    this.#isTrusted = false
    this.#hasFailed = true
  }

  /** The log must be durable. False: another program writes or reads; try again. Throws if the database cannot be synced. */
  ensure(): boolean {
    if (this.#isTrusted) return true
    const { log, checkpointed } = this.#checkpoint('NOOP')
    const isPart = checkpointed > 0 && checkpointed < log
    if (isPart && !this.#withWriteLock((lock) => this.#writeAgain(lock))) return false
    this.#isTrusted = true
    this.#hasFailed = false
    return true
  }

  #checkpoint(mode: 'NOOP' | 'PASSIVE'): LogCheckpoint {
    return this.#db.sql(`PRAGMA wal_checkpoint(${mode})`).get() as LogCheckpoint
  }

  /** Of another connection: one that has begun a transaction cannot make a checkpoint. */
  #withWriteLock(work: (lock: SqliteDatabase) => boolean): boolean {
    const lock = this.#db.driver.open(this.#db.fileName(), { readonly: false })
    try {
      lock.pragma('wal_autocheckpoint = 0')
      lock.exec('BEGIN IMMEDIATE')
      return work(lock)
    } catch (error) {
      if (isBusy(error)) return false
      throw error
    } finally {
      if (lock.inTransaction) lock.exec('ROLLBACK')
      lock.close()
    }
  }

  #writeAgain(lock: SqliteDatabase): boolean {
    const { busy, log, checkpointed } = this.#checkpoint('PASSIVE')
    // All is copied, and nothing can be added: until the lock is released no program writes to the database.
    if (busy !== 0 || checkpointed < log) return false
    try {
      this.#syncedAgain(log)
    } catch (error) {
      // The log must not begin anew, so it must hold more than what was copied.
      const version = lock.pragma('user_version', { simple: true })
      lock.exec(`PRAGMA user_version = ${version}; COMMIT`)
      throw syncFailed(error)
    }
    return true
  }

  #syncedAgain(frames: number): void {
    const path = this.#db.fileName()
    const log = openSync(`${path}-wal`, 'r')
    try {
      const pages = newestPages(log, frames)
      if (pages === null)
        throw new Error(`${path}-wal does not hold the ${frames} frames that were copied from it`)
      for (let sync = 1; ; sync++) {
        try {
          return copyPages(log, descriptorOf(path), pages)
        } catch (error) {
          if (sync === SYNCS_MAX) throw error
        }
      }
    } finally {
      closeSync(log)
    }
  }
}

function copyPages(log: number, database: number, { places, pageBytes }: NewestPages): void {
  const content = Buffer.alloc(pageBytes)
  for (const [page, at] of places) {
    readSync(log, content, 0, pageBytes, at)
    writeSync(database, content, 0, pageBytes, (page - 1) * pageBytes)
  }
  fsyncSync(database)
}

/** Never closed: closing a descriptor takes away all locks that this process has on the file. */
const kept = new Map<string, number>()

function descriptorOf(path: string): number {
  const { dev, ino } = statSync(path)
  const known = kept.get(path)
  if (known !== undefined) {
    const opened = fstatSync(known)
    if (opened.dev === dev && opened.ino === ino) return known
  }
  const opened = openSync(path, 'r+')
  kept.set(path, opened)
  return opened
}
