import type { DiscoverySource } from '../../ports/rows.ts'
import { unknownDiscovery } from '../../source.ts'
import type { DiscoverySql } from '../../sql/discovery-sql.ts'
import type { Database } from '../server/database.ts'
import { claimSql, type ScanStart } from './claim-sql.ts'
import { isOwnFault, isPerhapsAltered } from './faults.ts'
import { ScanCursor } from './scan-cursor.ts'
import { settleSql } from './settle-sql.ts'
import type { Column } from './shape.ts'
import { discoverySql, type RowSource } from './source.ts'
import { validateSource } from './validate.ts'
import type { ValidatedSource } from './validated-source.ts'

/** A discovery as this store works on it. */
export class KnownDiscovery {
  readonly name: string
  readonly declared: DiscoverySource
  readonly source: RowSource
  readonly sql: DiscoverySql
  /** Of the declarations, when it was learnt. */
  readonly version: number
  readonly walk: ScanCursor
  /** Whether its table says when it is written. */
  readonly tells: boolean
  readonly #schema: string
  readonly #texts = new Map<string, string>()
  /** Part of each text: what was prepared for a table that has changed since is not used again. */
  readonly #edition: number

  constructor({ source, tells }: ValidatedSource, schema: string, version: number, edition: number) {
    this.source = source
    this.sql = discoverySql(source)
    this.declared = source.declared
    this.name = source.declared.name
    this.version = version
    this.tells = tells
    this.walk = new ScanCursor(source.way, source.declared.orderBy !== null)
    this.#schema = `"${schema}"`
    this.#edition = edition
  }

  claimText(at: ScanStart['at'], tells: boolean): string {
    return this.#text(`${at} ${tells}`, () => claimSql(this.source, this.#schema, at, tells))
  }

  settleText(columns: readonly Column[]): string {
    const names = columns.map(({ name }) => name)
    return this.#text(JSON.stringify(names), () => settleSql(this.source, this.#schema, columns))
  }

  #text(key: string, make: () => string): string {
    const known = this.#texts.get(key)
    if (known !== undefined) return known
    const text = `/* ${this.#edition} */ ${make()}`
    this.#texts.set(key, text)
    return text
  }

  column(name: string): Column | undefined {
    return this.source.columns.find((column) => column.name === name)
  }
}

/** What this store knows of discoveries: each as the last process that planned it said. */
export class DiscoveryCache {
  readonly #database: Database
  readonly #known = new Map<string, Promise<KnownDiscovery>>()
  #edition = 0

  constructor(database: Database) {
    this.#database = database
  }

  /** Throws UNKNOWN_DISCOVERY, and BAD_DISCOVERY when the table is not what it was any more. */
  get(name: string): Promise<KnownDiscovery> {
    const known = this.#known.get(name) ?? this.#learn(name)
    this.#known.set(name, known)
    known.catch(() => this.#known.delete(name))
    return known
  }

  /** Looks it over once more: it was planned anew, or its table was altered. */
  again(name: string): Promise<KnownDiscovery> {
    this.#known.delete(name)
    return this.get(name)
  }

  /** An error: why its declaration does not fit its table. Looked over once more, if it is to be. */
  async getOrProblem(name: string, again = false): Promise<KnownDiscovery | Error> {
    try {
      return await (again ? this.again(name) : this.get(name))
    } catch (error) {
      if (isOwnFault(error)) return error
      throw error
    }
  }

  /** Reads by what is known of it; if its table was altered since, it is looked over and read once more. */
  async reading<T>(name: string, read: (known: KnownDiscovery) => Promise<T>): Promise<T> {
    try {
      return await read(await this.get(name))
    } catch (error) {
      if (!isPerhapsAltered(error)) throw error
    }
    return read(await this.again(name))
  }

  async #learn(name: string): Promise<KnownDiscovery> {
    const { sql } = this.#database
    const row = await sql.row<{ source: string; version: number }>(
      `SELECT source, (SELECT value FROM gleaner.settings WHERE key = 'discoveries') AS version
       FROM gleaner.discoveries WHERE name = $1`,
      [name],
    )
    if (row === undefined) throw unknownDiscovery(name)
    const looked = await validateSource(this.#database, JSON.parse(row.source) as DiscoverySource)
    this.#edition += 1
    return new KnownDiscovery(looked, sql.schema, row.version, this.#edition)
  }
}
