import type { DiscoverySource } from '../../ports/rows.ts'
import { type OrderColumn, orderOf } from '../../source.ts'
import type { DiscoverySql } from '../../sql/discovery-sql.ts'
import { rows } from '../../sql/script.ts'
import { around, ofUser, sql, verbatim } from '../../sql/sql.ts'
import { isUnreadable } from './faults.ts'
import { type Column, quoted, type Shape } from './shape.ts'

/** How the rows that may be next are found. */
export type ScanMethod =
  /** An index leads from one eligible row to the next. */
  | 'index'
  /** No index does: so many rows are looked at in key order, eligible or not. */
  | 'window'

/** A discovery in words of SQL. `of` names what the columns belong to: the table, or a subquery that repeats them. */
export interface RowSource {
  readonly declared: DiscoverySource
  readonly columns: readonly Column[]
  readonly way: ScanMethod
  /** The name as a literal. */
  readonly name: string
  /** `"app"."files" AS "files"` */
  readonly from: string
  readonly table: string
  readonly eligible: string
  /** Of the table when it was looked over. */
  readonly oid: number
  readonly attributes: number
  keyText(of: string): string
  /** `t."id" = '42'::bigint`: the row with the key that the text expression gives. */
  hasKey(of: string, text: string): string
  /** What a claim remembers of the row, to see whether it has changed. `xmin`: as text. */
  version(of: string, xmin: string): string
  hash(of: string): string
  /** It is as it was when `then` was written. */
  same(of: string, xmin: string, then: Then): string
  readonly order: string
  /** The values of a place. */
  readonly placeSize: number
  /** Where a row stands in that order, as text. */
  place(of: string): string
  /** It stands behind that place. */
  behind(of: string, place: string): string
}

/** What a claim or an entry of the ledger remembers of its row. */
export interface Then {
  version: string
  hash: string
}

export function thenOf(remembered: string): Then {
  return { version: `${remembered}.row_version`, hash: `${remembered}.row_hash` }
}

/**
 * Written by `copy`, which cannot know what the row is like here: it holds for the row as it is found, until `repairRows` has
 * seen it. No other entry has both.
 */
export function isOfRowAsFound({ version, hash }: Then): string {
  return `(${version} IS NULL AND ${hash} IS NOT DISTINCT FROM 0)`
}

/** Columns of our own beside the user's: no name that somebody would take. */
export const OWN = { key: '"gleaner:key"', xmin: '"gleaner:xmin"', eligible: '"gleaner:eligible"' } as const

export function rowSource(declared: DiscoverySource, shape: Shape, way: ScanMethod): RowSource {
  const table = quoted(shape.table)
  const byName = new Map(shape.columns.map((column) => [column.name, column]))
  const key = declared.key.map((name) => byName.get(name)!)
  const version = declared.version === null ? null : byName.get(declared.version)!
  const ordered = orderOf(declared)
  const order = inOrder(ordered, byName, key)
  const keyText = (of: string) => keyAsText(of, key)
  const hash = (of: string) => (version === null ? hashOf(of, shape.columns) : 'NULL::bigint')
  return {
    declared,
    columns: shape.columns,
    way,
    name: literal(declared.name),
    from: `${quoted(shape.schema)}.${table} AS ${table}`,
    table,
    eligible: eligibleOf(declared.where, table, key),
    oid: shape.oid,
    attributes: shape.attributes,
    keyText,
    hasKey: (of, text) =>
      `(${key.map((column, at) => compared(column, '=', `${of}.${quoted(column.name)}`, keyPart(text, key, at))).join(' AND ')})`,
    version: (of, xmin) => (version === null ? xmin : `${of}.${quoted(version.name)}::text`),
    hash,
    same: (of, xmin, then) => {
      const seen =
        version === null
          ? `${then.version} = ${xmin} OR ${then.hash} = ${hash(of)}`
          : isSame(version, `${of}.${quoted(version.name)}`, `${then.version}::${version.type}`)
      return `(${seen} OR ${isOfRowAsFound(then)})`
    },
    order: order
      .map(({ column, descending }) => `${table}.${quoted(column.name)}${descending ? ' DESC' : ''}`)
      .join(', '),
    placeSize: ordered.length === 0 ? key.length : order.length,
    place: (of) => (ordered.length === 0 ? keyText(of) : placeOf(of, order)),
    behind: (of, place) =>
      ordered.length === 0 ? behindKey(of, place, key) : behindPlace(of, place, order, 0),
  }
}

/** For the scripts that both databases run. */
export function discoverySql(source: RowSource): DiscoverySql {
  const { declared, table } = source
  const xmin = `${table}.xmin::text`
  const behind = (place: string) => around(sql`CAST(${place} AS text)`, (text) => source.behind(table, text))
  return {
    name: declared.name,
    keySize: declared.key.length,
    placeSize: source.placeSize,
    table: ofUser(source.from),
    eligible: ofUser(source.eligible),
    hasKey: (key) => around(key, (text) => source.hasKey(table, text)),
    isAsIn: (entry) => ofUser(source.same(table, xmin, thenOf(entry))),
    next: (place, count) => sql`
      SELECT ${ofUser(source.keyText(table))} AS key, ${ofUser(source.place(table))} AS place FROM ${ofUser(source.from)}
      WHERE ${ofUser(source.eligible)} ${place === null ? sql`` : sql`AND ${behind(place)}`}
      ORDER BY ${ofUser(source.order)} LIMIT ${count}`,
    isUnreadable,
    *readsPlace(place) {
      const nulls = source.columns.map(({ name, type }) => `NULL::${type} AS ${quoted(name)}`).join(', ')
      try {
        yield* rows(sql`SELECT ${behind(place)} FROM (SELECT ${ofUser(nulls)}) AS ${ofUser(table)}`)
        return true
      } catch (error) {
        if (isUnreadable(error)) return false
        throw error
      }
    },
    adoptCopied: (keys) => sql`
      UPDATE gleaner.ledger AS gleaner_entry
      SET row_version = ${ofUser(source.version(table, xmin))}, row_hash = ${ofUser(source.hash(table))} FROM ${ofUser(source.from)}
      WHERE gleaner_entry.discovery = ${declared.name} AND gleaner_entry.row_key = ANY(${keys})
        AND ${verbatim(isOfRowAsFound(thenOf('gleaner_entry')))}
        AND ${ofUser(source.hasKey(table, 'gleaner_entry.row_key'))}`,
  }
}

/** The condition between brackets: a newline ends a comment in it. What has no key cannot be claimed. */
function eligibleOf(where: string, table: string, key: readonly Column[]): string {
  const keyed = key
    .filter(({ notNull }) => !notNull)
    .map(({ name }) => `${table}.${quoted(name)} IS NOT NULL`)
  return keyed.length === 0 ? `(\n${where}\n)` : `((\n${where}\n) AND ${keyed.join(' AND ')})`
}

function namesOf(of: string, columns: readonly Column[]): string {
  return columns.map(({ name }) => `${of}.${quoted(name)}`).join(', ')
}

/** One column as it is; several as JSON.stringify would write them. */
function keyAsText(of: string, key: readonly Column[]): string {
  const [first, ...more] = key.map(({ name }) => `${of}.${quoted(name)}`)
  if (more.length === 0) return `${first}::text`
  return `('[' || ${[first, ...more].map((column) => `pg_catalog.to_jsonb(${column})::text`).join(` || ',' || `)} || ']')`
}

function keyPart(text: string, key: readonly Column[], at: number): string {
  const { type } = key[at]!
  return key.length === 1 ? `(${text})::${type}` : `((${text})::jsonb ->> ${at})::${type}`
}

/** By the operator that the type has, whatever others there are in the search_path. */
function compared(
  { operators }: Pick<Column, 'operators'>,
  operator: string,
  left: string,
  right: string,
): string {
  return `${left} OPERATOR(${quoted(operators)}.${operator}) ${right}`
}

/** IS NOT DISTINCT FROM takes no schema. */
function isSame(column: Column, left: string, right: string): string {
  return `coalesce(${compared(column, '=', left, right)}, ${left} IS NULL AND ${right} IS NULL)`
}

/** Compares the whole key at once, as an index does. */
function behindKey(of: string, place: string, key: readonly Column[]): string {
  const here = `(${namesOf(of, key)})`
  const there = `(${key.map((_, at) => keyPart(place, key, at)).join(', ')})`
  const [first, ...more] = key
  // A row is compared by operators of one schema: the server looks for the others of an index's family itself.
  const isOne = more.every(({ operators }) => operators === first!.operators)
  return isOne ? compared(first!, '>', here, there) : `${here} > ${there}`
}

/** Of all values with their types: what is written anew without a change stays the same, whoever wrote it. */
function hashOf(of: string, columns: readonly Column[]): string {
  return `pg_catalog.hashtextextended(ROW(${namesOf(of, columns)})::text, 0)`
}

interface Ordered {
  column: Column
  descending: boolean
}

/** The key comes last, so that no two rows stand at the same place. */
function inOrder(
  ordered: readonly OrderColumn[],
  byName: ReadonlyMap<string, Column>,
  key: readonly Column[],
): Ordered[] {
  const first = ordered.map(({ column, descending }) => ({ column: byName.get(column)!, descending }))
  const rest = key.filter(({ name }) => !ordered.some(({ column }) => column === name))
  return [...first, ...rest.map((column) => ({ column, descending: false }))]
}

function placeOf(of: string, order: readonly Ordered[]): string {
  return `pg_catalog.jsonb_build_array(${order.map(({ column }) => `${of}.${quoted(column.name)}::text`).join(', ')})::text`
}

/** The same, column by column: each way has its own end for NULL. */
function behindPlace(of: string, place: string, order: readonly Ordered[], at: number): string {
  const { column, descending } = order[at]!
  const here = `${of}.${quoted(column.name)}`
  const there = `((${place})::jsonb ->> ${at})::${column.type}`
  const further = descending
    ? `(${compared(column, '<', here, there)} OR (${there} IS NULL AND ${here} IS NOT NULL))`
    : `(${compared(column, '>', here, there)} OR (${here} IS NULL AND ${there} IS NOT NULL))`
  const behind =
    at === order.length - 1
      ? further
      : `(${further} OR (${isSame(column, here, there)} AND ${behindPlace(of, place, order, at + 1)}))`
  if (at > 0 || !column.notNull) return behind
  // Says the same once more, in words that an index understands.
  return `${compared(column, descending ? '<=' : '>=', here, there)} AND ${behind}`
}

export function literal(text: string): string {
  // With a backslash the server's setting would decide what it means.
  return text.includes('\\')
    ? ` E'${text.replaceAll('\\', '\\\\').replaceAll("'", "''")}'`
    : `'${text.replaceAll("'", "''")}'`
}
