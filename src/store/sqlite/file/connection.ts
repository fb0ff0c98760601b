import { existsSync } from 'node:fs'
import { mustReopen, StoreError } from '../../../errors.ts'
import type { SqliteLibrary } from '../../ports/database.ts'
import type { SqliteDatabase, SqliteDriver, SqliteTuning } from '../drivers/driver.ts'
import { loadDriver } from '../drivers/load.ts'
import { SecondLibrary, twoSqlites } from '../drivers/second-library.ts'
import { DurableLog, type LogCheckpoint } from './durable-log.ts'
import { DurablePages } from './durable-pages.ts'
import { refuseForeignLink } from './foreign-link.ts'
import { LockMeter } from './lock-use.ts'
import { createFileFor } from './new-file.ts'
import { filesMoved, type Moved, OpenFiles } from './open-files.ts'
import { isBusy, isSyncFailure, translated } from './sql-errors.ts'
import { Statements } from './statements.ts'

/** `full`: on disk when the commit returns. `normal`: survives a crash of the process, not a power cut. */
export type Durability = 'full' | 'normal'

/**
 * Where pages are kept as they were before a statement or a savepoint, until it is over. What we write ourselves is little, and a file
 * would be three quarters of all that is written; a user's own statement may change a whole table.
 */
export type Undo = 'memory' | 'file'

/** SQLite's own busy handler blocks the thread and starves processes: we wait ourselves, with jitter. */
const RETRY_MIN_MS = 0.2
const RETRY_SPREAD_MS = 2
const BUSY_LIMIT_MS = 60_000
/** What a long reader let the log grow to beyond this is given back when the log begins anew. */
const LOG_KEPT_BYTES = 32 * 2 ** 20
/** All pages that claims and enqueues touch, with a million tasks kept. */
const CACHE_BYTES = 6_000 * 1_024

/** Until the process ends. */
const leftOpen: SqliteDatabase[] = []

export interface ConnectionOptions {
  readonly?: boolean | undefined
  /** Which opens the file. */
  library?: SqliteLibrary | undefined
}

/** One SQLite connection: prepared statements, transactions, and waiting for the lock without blocking. */
export class Connection {
  readonly raw: SqliteDatabase
  readonly driver: SqliteDriver
  readonly path: string
  #durability: Durability | undefined
  #undo: Undo = 'file'
  readonly statements: Statements
  readonly lock = new LockMeter()
  readonly #log: DurableLog
  readonly #pages: DurablePages
  #files: OpenFiles | null = null
  #second: SecondLibrary | null = null
  /** Why nothing more is read or written here. */
  #failure: StoreError | null = null

  constructor(path: string, { readonly = false, library }: ConnectionOptions = {}) {
    this.path = path
    this.driver = loadDriver(library)
    refuseForeignLink(path)
    if (!readonly) createFileFor(path)
    try {
      this.raw = this.driver.open(path, { readonly })
    } catch (error) {
      throw translated(error instanceof TypeError ? cannotOpen(path, error) : error)
    }
    this.statements = new Statements(this.raw, this.driver)
    this.#log = new DurableLog(this.statements)
    this.#pages = new DurablePages(this.statements)
    // By us, when the log is known to be durable: SQLite would do it within a commit, and ignore a sync that fails.
    this.raw.pragma('wal_autocheckpoint = 0')
    this.raw.pragma(`journal_size_limit = ${LOG_KEPT_BYTES}`)
  }

  /** Write-ahead logging lets readers and one writer work side by side; it is a lasting property of the file. */
  async configure({ cacheBytes = CACHE_BYTES, mmapBytes = 0 }: SqliteTuning = {}): Promise<void> {
    await this.read(() => {
      this.raw.pragma('journal_mode = WAL')
      // Without it macOS answers a sync before the data is on the disk.
      this.raw.pragma('fullfsync = 1')
      this.raw.pragma('checkpoint_fullfsync = 1')
      this.raw.pragma(`cache_size = -${Math.floor(cacheBytes / 1_024)}`)
      this.raw.pragma(`mmap_size = ${mmapBytes}`)
    })
  }

  /** False when somebody else is writing. */
  tryBegin(durability: Durability, undo: Undo = 'file'): boolean {
    this.#mustBeUsable()
    if ((durability === 'full' || this.#log.hasFailed) && !this.#ensureLog()) return this.#missed()
    if (this.#durability !== durability) {
      this.raw.pragma(`synchronous = ${durability}`)
      this.#durability = durability
    }
    if (this.#undo !== undo) {
      this.raw.pragma(`temp_store = ${undo}`)
      this.#undo = undo
    }
    try {
      this.statements.sql('BEGIN IMMEDIATE').run()
      this.lock.acquired()
      return true
    } catch (error) {
      if (isBusy(error)) return this.#missed()
      throw error
    }
  }

  #missed(): false {
    this.lock.missed()
    return false
  }

  commit(): void {
    try {
      this.statements.sql('COMMIT').run()
      this.lock.released()
    } catch (error) {
      this.#heed(error)
      throw error
    }
  }

  /** Copies the log into the database. Throws if another program is in the way while the log and the pages must be made durable first. */
  checkpoint(mode: 'NOOP' | 'RESTART' | 'TRUNCATE'): LogCheckpoint {
    this.#mustBeUsable()
    if (mode !== 'NOOP' && !this.#ensureLog()) throw new Busy()
    try {
      if (mode !== 'NOOP' && !this.#pages.ensure()) throw new Busy()
      return this.statements.sql(`PRAGMA wal_checkpoint(${mode})`).get() as LogCheckpoint
    } catch (error) {
      if (isSyncFailure(error)) this.#pages.failed()
      this.#heed(error)
      throw error
    }
  }

  /**
   * From now on it is noticed if another program removes or replaces the files, or another SQLite library of this process opens
   * them. They exist once something was read.
   */
  guardFiles(): void {
    if (this.raw.pragma('journal_mode', { simple: true }) !== 'wal') return
    const file = this.statements.fileName()
    this.#files = new OpenFiles(file)
    this.#second = new SecondLibrary(file, this.driver)
    this.#mustBeUsable()
  }

  /** Before what was promised is acknowledged. */
  mustBeInPlace(): void {
    this.#mustBeUsable(true)
  }

  #mustBeUsable(certain = false): void {
    if (this.#failure !== null) throw this.#failure
    if (this.#second?.isThere()) throw this.#fail(twoSqlites(this.path, 'both have it open'))
    const moved = this.#files?.moved(certain) ?? null
    if (moved !== null) throw this.#fail(filesMoved(moved.file, { isSaved: this.#isSavedFrom(moved) }))
  }

  /** The log has no name any more, but we still have it: what is in it is copied while nobody else can have opened the file. */
  #isSavedFrom({ onlyLogIsGone }: Moved): boolean {
    if (!onlyLogIsGone || !this.#log.isTrusted || this.raw.inTransaction) return false
    try {
      const { busy, log, checkpointed } = this.statements
        .sql('PRAGMA wal_checkpoint(FULL)')
        .get() as LogCheckpoint
      return busy === 0 && checkpointed === log
    } catch {
      return false
    }
  }

  #fail(error: StoreError): StoreError {
    this.#failure = error
    process.emitWarning(error.message, 'GleanerWarning')
    return error
  }

  /** False: somebody else is writing. */
  #ensureLog(): boolean {
    if (this.#log.isTrusted) return true
    try {
      return this.#log.ensure()
    } catch (error) {
      throw mustReopen(error) ? this.#fail(error) : error
    }
  }

  /** After a failed sync: at once, before the operating system forgets what it could not write. */
  #heed(error: unknown): void {
    if (!isSyncFailure(error)) return
    this.#log.failed()
    this.rollback()
    try {
      this.#ensureLog()
    } catch {
      // The next write tries again, and says so if it fails.
    }
  }

  /** Some errors have already rolled back what there was. */
  rollback(): void {
    if (this.raw.inTransaction) this.statements.sql('ROLLBACK').run()
    this.lock.released()
  }

  /** Runs `read` outside any transaction; busy (recovery, a checkpoint) is waited for. */
  async read<T>(read: () => T): Promise<T> {
    return this.#patiently(read)
  }

  /** Runs `read` on one snapshot: what others commit meanwhile is not half seen. */
  async snapshot<T>(read: () => T): Promise<T> {
    return this.#patiently(() => {
      this.statements.sql('BEGIN').run()
      try {
        return read()
      } finally {
        this.rollback()
      }
    })
  }

  /** Runs `write` in one transaction of its own. */
  async transaction<T>(write: () => T, durability: Durability = 'full'): Promise<T> {
    return this.#patiently(() => {
      if (!this.tryBegin(durability)) throw new Busy()
      try {
        const value = write()
        this.commit()
        return value
      } catch (error) {
        this.rollback()
        throw error
      }
    })
  }

  /** Begins a transaction that lasts until `rollback`: nobody else writes meanwhile. */
  async hold(): Promise<void> {
    await this.#patiently(() => {
      if (!this.tryBegin('full')) throw new Busy()
    })
  }

  async #patiently<T>(work: () => T): Promise<T> {
    const givesUpAt = performance.now() + BUSY_LIMIT_MS
    for (;;) {
      try {
        this.#mustBeUsable()
        return work()
      } catch (error) {
        if (!(error instanceof Busy) && !isBusy(error)) throw translated(error)
        if (performance.now() > givesUpAt) throw tooBusy(BUSY_LIMIT_MS, error)
      }
      await new Promise((resolve) => setTimeout(resolve, lockRetryDelayMs()))
    }
  }

  /** SQLite removes the log when the last connection to the file closes. */
  isLogThere(): boolean {
    return existsSync(`${this.path}-wal`)
  }

  close(): void {
    // The last one to close removes the log. What still waits for a turn must not take that for the deed of another program.
    this.#files = null
    this.#second?.close()
    // Closing would take away the locks of the other library, which goes on.
    if (this.#failure?.code === 'TWO_SQLITES') return void leftOpen.push(this.raw)
    if (this.#pages.hasFailed && this.#failure === null) this.#saveForClosing()
    this.raw.close()
  }

  /** SQLite makes a checkpoint when the last connection is closed. */
  #saveForClosing(): void {
    try {
      if (this.#ensureLog()) this.#pages.ensure()
    } catch {
      // Every call before has said that the disk fails.
    }
  }
}

class Busy extends Error {}

/** Short and random, so that no process is always the one that comes too late. */
export function lockRetryDelayMs(): number {
  return RETRY_MIN_MS + Math.random() * RETRY_SPREAD_MS
}

export function tooBusy(waitedMs: number, cause?: unknown): StoreError {
  return new StoreError(`the database stayed locked for ${Math.round(waitedMs)} ms`, {
    code: 'STORE_BUSY',
    hint: 'Another program holds a write transaction open on this file; keep transactions short.',
    cause,
  })
}

function cannotOpen(path: string, cause: unknown): StoreError {
  return new StoreError(`cannot open the database ${path}`, {
    code: 'STORE_FAILED',
    hint: 'Check that the folder exists and that this process may write to it.',
    cause,
  })
}
