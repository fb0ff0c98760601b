import Database from 'better-sqlite3'
import { StoreError } from '../../../errors.ts'
import { isBusy, translated } from './sql-errors.ts'
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

/** One SQLite connection: prepared statements, transactions, and waiting for the lock without blocking. */
export class Connection {
  readonly raw: Database.Database
  readonly path: string
  #durability: Durability | undefined
  #undo: Undo = 'file'
  readonly statements: Statements

  constructor(path: string, { readonly = false } = {}) {
    this.path = path
    try {
      this.raw = new Database(path, { timeout: 0, readonly })
    } catch (error) {
      throw translated(error instanceof TypeError ? cannotOpen(path, error) : error)
    }
    this.statements = new Statements(this.raw)
  }

  /** Write-ahead logging lets readers and one writer work side by side; it is a lasting property of the file. */
  async configure(): Promise<void> {
    await this.read(() => {
      this.raw.pragma('journal_mode = WAL')
      // Without it macOS answers a sync before the data is on the disk.
      this.raw.pragma('fullfsync = 1')
      this.raw.pragma('checkpoint_fullfsync = 1')
      this.raw.pragma('cache_size = -6000')
    })
  }

  /** False when somebody else is writing. */
  tryBegin(durability: Durability, undo: Undo = 'file'): boolean {
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
      return true
    } catch (error) {
      if (isBusy(error)) return false
      throw error
    }
  }

  commit(): void {
    this.statements.sql('COMMIT').run()
  }

  /** Some errors have already rolled back what there was. */
  rollback(): void {
    if (this.raw.inTransaction) this.statements.sql('ROLLBACK').run()
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
        return work()
      } catch (error) {
        if (!(error instanceof Busy) && !isBusy(error)) throw translated(error)
        if (performance.now() > givesUpAt) throw tooBusy(BUSY_LIMIT_MS, error)
      }
      await new Promise((resolve) => setTimeout(resolve, retryDelayMs()))
    }
  }

  close(): void {
    this.raw.close()
  }
}

class Busy extends Error {}

/** Short and random, so that no process is always the one that comes too late. */
export function retryDelayMs(): number {
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
