import type { DiscoverySource } from '../../ports/rows.ts'
import { badDiscovery as bad, checkColumns, checkCondition, checkNotNull, realColumns } from '../../source.ts'
import type { Statements } from '../file/statements.ts'
import { affinityOf } from './affinity.ts'
import { indexFor } from './index-advice.ts'
import { type Column, quoted, type RowSource, sourceSql } from './source-sql.ts'

/** Looks the table over. Throws what is wrong with the declaration. */
export function validateSource(db: Statements, declared: DiscoverySource): RowSource {
  const source = { ...declared, table: ownTable(db, declared) }
  const shape = shapeOf(db, source.table)
  const columns = shape.map(({ name }) => name)
  checkColumns(source, columns)
  checkCondition(source)
  checkKey(db, source, shape)
  const plain = sourceSql(source, shape, null)
  tryCondition(db, plain)
  const index = indexFor(db, source, shape)
  return index === null ? plain : sourceSql(source, shape, index)
}

function ownTable(db: Statements, { name, table }: DiscoverySource): string {
  const plain = table.startsWith('main.') ? table.slice('main.'.length) : table
  const found = db.sql('SELECT name, type FROM sqlite_schema WHERE name = ? COLLATE NOCASE').get(plain) as
    | { name: string; type: string }
    | undefined
  if (found?.type === 'table') return found.name
  if (found?.type === 'view') {
    throw bad(
      name,
      `${table} is a view`,
      'A view has no rows of its own to claim; use the table it is made of.',
    )
  }
  const dot = table.indexOf('.')
  if (dot > 0) {
    const hint = `${table.slice(0, dot)} is another database. Gleaner must be opened on the one that holds the table.`
    throw bad(name, `${table} is not in the engine's own database`, hint)
  }
  const tables = db
    .scalar(`SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'gleaner\\_%' ESCAPE '\\'
               AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\' ORDER BY name LIMIT 20`)
    .all() as string[]
  const hint = tables.length === 0 ? 'The database has no tables yet.' : `There are: ${tables.join(', ')}.`
  throw bad(name, `there is no table ${table}`, hint)
}

const HIDDEN = 1

export function shapeOf(db: Statements, table: string): Column[] {
  const rows = db.raw.prepare(`PRAGMA main.table_xinfo(${quoted(table)})`).all() as {
    name: string
    type: string
    notnull: number
    hidden: number
  }[]
  return rows
    .filter(({ hidden }) => hidden !== HIDDEN)
    .map(({ name, type, notnull, hidden }) => ({
      name,
      type,
      notNull: notnull === 1,
      generated: hidden !== 0,
    }))
}

function checkKey(db: Statements, source: DiscoverySource, shape: readonly Column[]): void {
  const { name, table, key } = source
  for (const column of key) {
    const { type } = shape.find((one) => one.name === column)!
    const affinity = affinityOf(type)
    if (affinity !== 'BLOB' && affinity !== 'REAL') continue
    const problem = type === '' ? 'has no type' : `is of type ${type}`
    throw bad(
      name,
      `key: ${column} ${problem}`,
      'A key is an integer, a string, a UUID as a string, or several of these.',
    )
  }
  const primary = primaryKey(db, table)
  if (uniqueSets(db, table).some((set) => set.every((column) => key.includes(column)))) {
    // SQLite allows NULL in a primary key, which hardly anybody has.
    const nullable = (column: string) =>
      !primary.includes(column) && !shape.find((one) => one.name === column)!.notNull
    const hint = (column: string) =>
      `Make a new table with ${quoted(column)} NOT NULL, copy the rows, and rename it; or use the primary key.`
    return checkNotNull(source, nullable, hint)
  }
  const hint = `Use the primary key, or CREATE UNIQUE INDEX … ON ${quoted(table)} (${key.map(quoted).join(', ')}).`
  throw bad(name, `key: ${key.join(', ')} is not unique in ${table}`, hint)
}

/** Columns of which no two rows have the same. */
function uniqueSets(db: Statements, table: string): string[][] {
  const primary = primaryKey(db, table)
  const indexes = (
    db.raw.prepare(`PRAGMA main.index_list(${quoted(table)})`).all() as {
      name: string
      unique: number
      partial: number
    }[]
  ).filter(({ unique, partial }) => unique === 1 && partial === 0)
  const sets = indexes.map(({ name }) =>
    (db.raw.prepare(`PRAGMA main.index_info(${quoted(name)})`).all() as { name: string | null }[]).map(
      (one) => one.name,
    ),
  )
  // An expression has no name.
  const plain = sets.filter((set): set is string[] => set.every((column) => column !== null))
  return primary.length > 0 ? [primary, ...plain] : plain
}

function primaryKey(db: Statements, table: string): string[] {
  const info = db.raw.prepare(`PRAGMA main.table_xinfo(${quoted(table)})`).all() as {
    name: string
    pk: number
  }[]
  return info.filter(({ pk }) => pk > 0).map(({ name }) => name)
}

function tryCondition(db: Statements, { source, columns, table, eligible }: RowSource): void {
  const { name } = source
  const broken = (problem: string, cause?: unknown) =>
    bad(name, `where: ${problem}`, realColumns(source.table, columns), cause)
  let statement: ReturnType<Statements['sql']>
  try {
    statement = db.raw.prepare(`SELECT 1 FROM ${table} WHERE ${eligible}`)
  } catch (error) {
    throw broken((error as Error).message, error)
  }
  if (!statement.readonly) throw broken('it writes')
}
