import type { DiscoverySource } from '../../ports/rows.ts'
import { badDiscovery as bad, checkColumns, checkNotNull, realColumns } from '../../source.ts'
import type { Database } from '../server/database.ts'
import type { Sql } from '../server/sql.ts'

/** A column of the user's table. */
export interface Column {
  name: string
  /** Without its length: a value that is too long is refused, not cut. */
  type: string
  /** The schema of the operators that compare its values. */
  operators: string
  /** A letter of the server's: N numbers, D dates, B booleans, S texts, U others. */
  category: string
  notNull: boolean
}

/** What the server says of the user's table. */
export interface Shape {
  schema: string
  table: string
  columns: readonly Column[]
  /** Its size when it was last looked at, in pages. */
  pages: number
  oid: number
  /** How many columns it ever had: another number, and it is to be looked over again. */
  attributes: number
}

interface Relation {
  oid: number
  attributes: number
  schema: string
  name: string
  kind: string
  pages: number
  readable: boolean
  writable: boolean
}

/** Relations that hold no rows of their own. */
const NOT_A_TABLE: Record<string, string> = {
  v: 'is a view',
  m: 'is a materialized view',
  f: 'is a foreign table: its rows are in another database',
  S: 'is a sequence',
}

/** Looks the table over. Throws what is wrong with the declaration. */
export async function shapeOf({ sql, ofUser }: Database, source: DiscoverySource): Promise<Shape> {
  const relation = await relationOf(ofUser, source)
  const columns = await columnsOf(sql, relation.oid)
  checkColumns(
    source,
    columns.map(({ name }) => name),
  )
  await checkKey(sql, source, relation.oid, columns)
  checkRights(source, relation)
  const { schema, name, pages, oid, attributes } = relation
  return { schema, table: name, columns, pages, oid, attributes }
}

async function relationOf(sql: Sql, { name, table }: DiscoverySource): Promise<Relation> {
  const dot = table.indexOf('.')
  // As it is spelled: no letter is folded. The part before the dot is a schema, unless a table has such a name.
  const [found] = await sql.rows<Relation>(
    `SELECT c.oid::int8 AS oid, n.nspname AS schema, c.relname AS name, c.relkind AS kind, c.relpages AS pages,
            c.relnatts AS attributes,
            pg_catalog.has_table_privilege(c.oid, 'SELECT') AS readable, pg_catalog.has_any_column_privilege(c.oid, 'UPDATE') AS writable
     FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
     WHERE c.relkind IN ('r', 'p', 'v', 'm', 'f', 'S')
       AND ((c.relname = $1 AND pg_catalog.pg_table_is_visible(c.oid)) OR (n.nspname = $2 AND c.relname = $3))
     ORDER BY c.relname = $1 DESC LIMIT 1`,
    [table, table.slice(0, Math.max(0, dot)), table.slice(dot + 1)],
  )
  if (found === undefined) throw await noTable(sql, name, table)
  const problem = NOT_A_TABLE[found.kind]
  if (problem !== undefined) {
    throw bad(name, `${table} ${problem}`, 'It has no rows of its own to claim; use the table it is made of.')
  }
  return found
}

async function noTable(sql: Sql, name: string, table: string): Promise<Error> {
  if (table.split('.').length > 2) {
    const hint = 'Gleaner must be opened on the database that holds the table; name it as schema.table.'
    return bad(name, `${table} is not in the engine's own database`, hint)
  }
  const tables = await sql.rows<{ name: string }>(
    `SELECT CASE WHEN pg_catalog.pg_table_is_visible(c.oid) THEN c.relname::text ELSE n.nspname::text || '.' || c.relname::text END AS name
     FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
     WHERE c.relkind IN ('r', 'p') AND n.nspname NOT IN ('pg_catalog', 'information_schema', $1)
       AND n.nspname::text NOT LIKE 'pg\\_toast%' AND n.nspname::text NOT LIKE 'pg\\_temp%'
     ORDER BY pg_catalog.pg_table_is_visible(c.oid) DESC, c.relname LIMIT 20`,
    [sql.schema],
  )
  const names = tables.map((one) => one.name).join(', ')
  const hint = names === '' ? 'The database has no tables yet.' : `There are: ${names}.`
  return bad(name, `there is no table ${table}`, hint)
}

/**
 * An extension creates the operators of its types beside them. All other types are compared by the server's own operators, mostly of
 * another type: those of text compare varchar, one compares all enums, one all arrays. A domain has the operators of its base type.
 */
const OPERATORS = `coalesce((
  WITH RECURSIVE bases AS (
    SELECT t.oid, t.typtype, t.typbasetype, t.typnamespace, t.typelem
    UNION ALL
    SELECT b.oid, b.typtype, b.typbasetype, b.typnamespace, b.typelem
    FROM bases JOIN pg_type b ON b.oid = bases.typbasetype WHERE bases.typtype = 'd'
  )
  SELECT n.nspname FROM bases JOIN pg_namespace n ON n.oid = bases.typnamespace
  WHERE bases.typtype = 'b' AND bases.typelem = 0), 'pg_catalog')`

function columnsOf(sql: Sql, oid: number): Promise<Column[]> {
  return sql.rows(
    `SELECT a.attname AS name, pg_catalog.format_type(a.atttypid, -1) AS type, t.typcategory AS category,
            a.attnotnull AS "notNull", ${OPERATORS} AS operators
     FROM pg_attribute a JOIN pg_type t ON t.oid = a.atttypid
     WHERE a.attrelid = $1::int8::oid AND a.attnum > 0 AND NOT a.attisdropped ORDER BY a.attnum`,
    [oid],
  )
}

async function checkKey(
  sql: Sql,
  source: DiscoverySource,
  oid: number,
  columns: readonly Column[],
): Promise<void> {
  const { name, table, key } = source
  const names = columns.map((column) => column.name)
  const unique = await sql.rows<{ columns: string[] }>(
    `SELECT ARRAY(SELECT a.attname::text FROM pg_catalog.unnest(i.indkey[0:i.indnkeyatts - 1]) k(n)
                  JOIN pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = k.n) AS columns
     FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid JOIN pg_am m ON m.oid = c.relam
     WHERE i.indrelid = $1::int8::oid AND i.indisunique AND i.indisvalid AND i.indpred IS NULL AND i.indexprs IS NULL
       AND m.amname = 'btree'`,
    [oid],
  )
  const isUnique = unique.some((index) => index.columns.every((column) => key.includes(column)))
  if (!isUnique) {
    const hint = `Use the primary key, or CREATE UNIQUE INDEX … (${key.map(quoted).join(', ')}). ${realColumns(table, names)}`
    throw bad(name, `key: ${key.join(', ')} is not unique in ${table}`, hint)
  }
  const nullable = (column: string) => !columns.find((one) => one.name === column)!.notNull
  checkNotNull(source, nullable, (column) => `ALTER TABLE … ALTER COLUMN ${quoted(column)} SET NOT NULL.`)
}

function checkRights({ name, table }: DiscoverySource, { readable, writable }: Relation): void {
  if (readable && writable) return
  const right = readable ? 'UPDATE' : 'SELECT'
  throw bad(
    name,
    `the user of the database URL has no right to ${right} ${table}`,
    `GRANT SELECT, UPDATE ON it.`,
  )
}

export function quoted(name: string): string {
  return `"${name.replaceAll('"', '""')}"`
}
