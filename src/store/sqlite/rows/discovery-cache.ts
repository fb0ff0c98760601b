import { GleanerError } from '../../../errors.ts'
import type { DiscoveryRecord, DiscoverySource } from '../../ports/rows.ts'
import { discoveryRecord } from '../../scripts/rows/discoveries.ts'
import { unknownDiscovery } from '../../source.ts'
import type { DiscoverySql } from '../../sql/discovery-sql.ts'
import { isUnanswerable } from '../file/sql-errors.ts'
import type { Statements } from '../file/statements.ts'
import { ScanCursor } from './scan-cursor.ts'
import { validateSource } from './shape.ts'
import { discoverySql, type RowSource } from './source-sql.ts'
import { DiscoveryStatements } from './statements.ts'

/** How far a store has reviewed the ledger of a discovery. */
export interface Review {
  after: string
}

/** A discovery as this store works on it. */
export interface KnownDiscovery {
  readonly name: string
  readonly rows: RowSource
  readonly sql: DiscoverySql
  readonly statements: DiscoveryStatements
  readonly hand: ScanCursor
  readonly review: Review
}

/** Null: its table is not what it was. */
export interface OpenDiscovery {
  name: string
  known: KnownDiscovery | null
  problem: string | null
}

interface Entry extends KnownDiscovery {
  declared: string
}

interface DiscoveryRow {
  name: string
  source: string
  create_index: string | null
  paused: number
  paused_reason: string | null
  position: string | null
}

/** Discoveries and their statements, made anew whenever a declaration or the schema has changed. */
export class DiscoveryCache {
  readonly #db: Statements
  readonly #entries = new Map<string, Entry>()
  #schema: unknown

  constructor(db: Statements) {
    this.#db = db
  }

  /** Throws BAD_DISCOVERY when the table is not what it was any more, and UNKNOWN_DISCOVERY. */
  get(name: string): KnownDiscovery {
    const row = this.#row(name)
    if (row === undefined) throw unknownDiscovery(name)
    return this.#known(row)
  }

  /** An error: why the declaration no longer fits its table. */
  getOrProblem(name: string): KnownDiscovery | Error {
    try {
      return this.get(name)
    } catch (error) {
      if (isOwnFault(error)) return error
      throw error
    }
  }

  get isEverythingPaused(): boolean {
    return this.#db.scalar(`SELECT value FROM gleaner_meta WHERE key = 'paused'`).get() !== 0
  }

  /** Those of them that may be worked on, each with what may be wrong with it. */
  open(names: readonly string[]): OpenDiscovery[] {
    if (this.isEverythingPaused) return []
    return names.flatMap((name): OpenDiscovery[] => {
      const row = this.#row(name)
      if (row === undefined || row.paused === 1) return []
      try {
        return [{ name, known: this.#known(row), problem: null }]
      } catch (error) {
        if (!isOwnFault(error)) throw error
        return [{ name, known: null, problem: error.message }]
      }
    })
  }

  all(): DiscoveryRecord[] {
    const rows = this.#db.sql('SELECT * FROM gleaner_discoveries ORDER BY name').all() as DiscoveryRow[]
    return rows.map(discoveryRecord)
  }

  #row(name: string): DiscoveryRow | undefined {
    return this.#db.sql('SELECT * FROM gleaner_discoveries WHERE name = ?').get(name) as
      | DiscoveryRow
      | undefined
  }

  #known(row: DiscoveryRow): KnownDiscovery {
    const known = this.#entry(row)
    known.hand.hear(row.position)
    return known
  }

  #entry({ name, source }: DiscoveryRow): Entry {
    const schema = this.#db.scalar('PRAGMA schema_version').get()
    if (schema !== this.#schema) this.#entries.clear()
    this.#schema = schema
    const known = this.#entries.get(name)
    if (known?.declared === source) return known
    const rows = validateSource(this.#db, JSON.parse(source) as DiscoverySource)
    const entry = {
      name,
      declared: source,
      rows,
      sql: discoverySql(rows),
      statements: new DiscoveryStatements(rows),
      hand: new ScanCursor(rows.source.orderBy !== null),
      review: { after: '' },
    }
    this.#entries.set(name, entry)
    return entry
  }
}

/** The discovery does not fit its table. Neither the lock nor the file is at fault. */
export function isOwnFault(error: unknown): error is Error {
  if (error instanceof GleanerError) return ['BAD_DISCOVERY', 'UNKNOWN_DISCOVERY'].includes(error.code)
  return isUnanswerable(error)
}
