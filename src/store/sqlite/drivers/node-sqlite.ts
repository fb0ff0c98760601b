import { resolve } from 'node:path'
import type { DatabaseSync, SQLInputValue, StatementSync } from 'node:sqlite'
import type { SqliteLibrary } from '../../ports/database.ts'
import type {
  DriverBackupOptions,
  FunctionOptions,
  SqliteDatabase,
  SqliteDriver,
  SqliteStatement,
} from './driver.ts'

export type NodeSqlite = typeof import('node:sqlite')

const IN_MEMORY = ':memory:'

/** The library that comes with Node. */
export function nodeSqlite(sqlite: NodeSqlite, library: SqliteLibrary): SqliteDriver {
  const adopted = new WeakMap<object, NodeDatabase>()
  return {
    library,
    open(path, { readonly }) {
      // A relative name that begins with `file:` would be taken for a URI.
      const place = path === IN_MEMORY ? path : resolve(path)
      return new NodeDatabase(new sqlite.DatabaseSync(place, { readOnly: readonly, timeout: 0 }), sqlite)
    },
    adopt(connection) {
      if (!(connection instanceof sqlite.DatabaseSync)) return null
      const known = adopted.get(connection) ?? new NodeDatabase(connection, sqlite)
      adopted.set(connection, known)
      return known
    },
  }
}

class NodeDatabase implements SqliteDatabase {
  readonly #db: DatabaseSync
  readonly #sqlite: NodeSqlite

  constructor(db: DatabaseSync, sqlite: NodeSqlite) {
    this.#db = db
    this.#sqlite = sqlite
  }

  get name(): string {
    return this.#db.location() ?? IN_MEMORY
  }

  get inTransaction(): boolean {
    return this.#db.isTransaction
  }

  prepare(sql: string): NodeStatement {
    const statement = this.#db.prepare(sql)
    // What follows the first statement would be ignored.
    if (/[^\s;]/.test(sql.slice(statement.sourceSQL.length)) && hasStatement(this.#db, statement, sql))
      throw new RangeError('The supplied SQL string contains more than one statement')
    return new NodeStatement(this.#db, statement)
  }

  exec(sql: string): void {
    this.#db.exec(sql)
  }

  pragma(source: string, { simple = false } = {}): unknown {
    const statement = this.prepare(`PRAGMA ${source}`)
    return simple ? statement.pluck().get() : statement.all()
  }

  function(name: string, options: FunctionOptions, run: (...values: any[]) => any): void {
    const { varargs, deterministic, safeIntegers } = options
    this.#db.function(name, { varargs, deterministic, useBigIntArguments: safeIntegers }, run)
  }

  async backup(path: string, { rate, progress }: DriverBackupOptions): Promise<{ totalPages: number }> {
    return { totalPages: await this.#sqlite.backup(this.#db, path, { rate, progress }) }
  }

  close(): void {
    if (this.#db.isOpen) this.#db.close()
  }
}

/** More than a comment. */
function hasStatement(db: DatabaseSync, first: StatementSync, sql: string): boolean {
  try {
    return db.prepare(sql.slice(first.sourceSQL.length)).sourceSQL !== ''
  } catch (error) {
    // Node prepares no empty statement.
    return !/contains no statements|empty/i.test((error as Error).message)
  }
}

class NodeStatement implements SqliteStatement {
  readonly #db: DatabaseSync
  readonly #statement: StatementSync
  #isPlucked = false
  #isRaw = false

  constructor(db: DatabaseSync, statement: StatementSync) {
    this.#db = db
    this.#statement = statement
    statement.setAllowUnknownNamedParameters(true)
  }

  get readonly(): boolean {
    const program = this.#db.prepare(`EXPLAIN ${this.#statement.sourceSQL}`).all()
    return !program.some(({ opcode, p2 }) => opcode === 'Transaction' && p2 !== 0)
  }

  run(...values: unknown[]): { changes: number; lastInsertRowid: number | bigint } {
    return this.#statement.run(...bindable(values)) as { changes: number; lastInsertRowid: number | bigint }
  }

  get(...values: unknown[]): unknown {
    return this.#shown(this.#statement.get(...bindable(values)))
  }

  all(...values: unknown[]): unknown[] {
    const rows: unknown[] = this.#statement.all(...bindable(values))
    if (this.#isPlucked || this.#isRaw) for (const [n, row] of rows.entries()) rows[n] = this.#shown(row)
    return rows
  }

  *iterate(...values: unknown[]): IterableIterator<unknown> {
    for (const row of this.#statement.iterate(...bindable(values))) yield this.#shown(row)
  }

  columns(): { name: string }[] {
    return this.#statement.columns()
  }

  pluck(on = true): this {
    this.#isPlucked = on
    return this.#asArrays()
  }

  raw(on = true): this {
    this.#isRaw = on
    return this.#asArrays()
  }

  #asArrays(): this {
    this.#statement.setReturnArrays(this.#isPlucked || this.#isRaw)
    return this
  }

  safeIntegers(on = true): this {
    this.#statement.setReadBigInts(on)
    return this
  }

  #shown(row: unknown): unknown {
    if (row === undefined || !(this.#isPlucked || this.#isRaw)) return row
    const values = row as unknown[]
    for (const [n, value] of values.entries()) if (value instanceof Uint8Array) values[n] = bufferOf(value)
    return this.#isPlucked ? values[0] : values
  }
}

function bufferOf(bytes: Uint8Array): Buffer {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
}

type Bound = [Record<string, SQLInputValue>, ...SQLInputValue[]]

/** Node takes named values first, no arrays, and no `undefined`. */
function bindable(values: unknown[]): Bound {
  if (values.every(isScalar)) return values as Bound
  let named: object | undefined
  const positional: unknown[] = []
  for (const value of values) {
    if (Array.isArray(value)) for (const one of value) positional.push(one ?? null)
    else if (value === undefined || isScalar(value)) positional.push(value ?? null)
    else named = value as object
  }
  return (named === undefined ? positional : [withoutUndefined(named), ...positional]) as Bound
}

function isScalar(value: unknown): boolean {
  if (value === undefined) return false
  return typeof value !== 'object' || value === null || ArrayBuffer.isView(value)
}

function withoutUndefined(named: object): object {
  if (!Object.values(named).includes(undefined)) return named
  return Object.fromEntries(Object.entries(named).map(([name, value]) => [name, value ?? null]))
}
