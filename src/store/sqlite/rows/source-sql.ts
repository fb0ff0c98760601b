import { isTuple } from '../../cursor.ts'
import type { DiscoverySource } from '../../ports/rows.ts'
import { orderOf } from '../../source.ts'
import { versionSql } from './digest.ts'

/** A column of the user's table. */
export interface Column {
  name: string
  type: string
  notNull: boolean
  generated: boolean
}

/** Where to look: from the beginning, behind a position, or behind one that sets the index no bound. */
export type From = 'beginning' | 'behind' | 'behind-unbounded'

/** A discovery in the words of this database. */
export interface RowSource {
  readonly source: DiscoverySource
  readonly columns: readonly string[]
  readonly table: string
  /** The condition, between brackets that it cannot leave: a comment at its end would swallow them. */
  readonly eligible: string
  /** The key as text. */
  readonly keyText: string
  /** Whether a text can be a key, or the place of a row: of others SQLite would say that they are no JSON. */
  readonly isKey: (text: string) => boolean
  readonly isPlace: (text: string) => boolean
  /** Which row: `key` is an SQL expression of its text. */
  readonly isRow: (key: string) => string
  readonly version: string
  /** What finds the next ones: the keys of those who are eligible behind a position, in order. */
  readonly next: (from: From) => string
  /** The kind of this position. */
  readonly from: (position: string | null) => From
  /** Whether a position is more than a key. */
  readonly isOrdered: boolean
  /** Joins the table with what `next` answered as `e`: `k0`, `k1`, …, `k` (the key as text), `place` (the position behind it). */
  readonly joinNext: string
}

export function quoted(name: string): string {
  return `"${name.replaceAll('"', '""')}"`
}

/** `index`: the one to walk. Named, because statistics of a time when most rows were eligible mislead the planner. */
export function sourceSql(
  source: DiscoverySource,
  shape: readonly Column[],
  index: string | null,
): RowSource {
  const columns = shape.map(({ name }) => name)
  const nullable = new Set(shape.filter(({ notNull }) => !notNull).map(({ name }) => name))
  const table = `main.${quoted(source.table)}`
  const column = (name: string) => `${quoted(source.table)}.${quoted(name)}`
  const versioned = shape
    .filter(({ generated }) => !generated)
    .map(({ name, type }) => ({ sql: column(name), type }))
  const key = source.key.map(column)
  const [only, another] = key
  const single = another === undefined
  const keyText = single ? `CAST(${only} AS TEXT)` : `json_array(${key.join(', ')})`
  const eligible = `(\n${source.where}\n)`
  const order = orderOf(source).map((one) => ({
    sql: column(one.column),
    descending: one.descending,
    nullable: nullable.has(one.column),
  }))
  const isRow = (text: string) =>
    single
      ? `${only} = ${text}`
      : key.map((part, n) => `${part} = json_extract(${text}, '$[${n}]')`).join(' AND ')
  const place =
    order.length === 0 ? keyText : `json_array(${[...order.map(({ sql }) => sql), ...key].join(', ')})`
  const behind = order.length === 0 ? behindKey(key) : behindOrder(order, key)
  const inOrder = [...order.map(({ sql, descending }) => (descending ? `${sql} DESC` : sql)), ...key].join(
    ', ',
  )
  const indexed = index === null ? '' : ` INDEXED BY ${quoted(index)}`
  const present = key.map((part) => `${part} IS NOT NULL`).join(' AND ')
  return {
    source,
    columns,
    table,
    eligible,
    keyText,
    isKey: (text) => single || isTuple(text, key.length),
    isPlace: (text) => (single && order.length === 0) || isTuple(text, order.length + key.length),
    isRow,
    version: source.version === null ? versionSql(versioned) : `quote(${column(source.version)})`,
    from: fromOf(order),
    isOrdered: order.length > 0,
    next: (from) =>
      `SELECT ${key.map((part, n) => `${part} AS k${n}`).join(', ')}, ${keyText} AS k, ${place} AS place
       FROM ${table}${indexed} WHERE ${eligible} AND ${from === 'beginning' ? present : behind(from)} ORDER BY ${inOrder}`,
    joinNext: key.map((part, n) => `${part} = e.k${n}`).join(' AND '),
  }
}

function behindKey(key: readonly string[]): (from: From) => string {
  if (key.length === 1) return () => `${key[0]} > :position`
  return () => `(${key.join(', ')}) > (${key.map((_, n) => `json_extract(:position, '$[${n}]')`).join(', ')})`
}

interface OrderSql {
  sql: string
  descending: boolean
  nullable: boolean
}

/** NULL comes first in SQLite. The bound on the first column is there for the index alone. */
function behindOrder(order: readonly OrderSql[], key: readonly string[]): (from: From) => string {
  const all = [...order, ...key.map((sql) => ({ sql, descending: false, nullable: false }))]
  const lexical = all.reduceRight((rest, { sql, descending }, n) => {
    const at = `json_extract(:position, '$[${n}]')`
    const beyond = descending
      ? `${sql} < ${at} OR (${at} IS NOT NULL AND ${sql} IS NULL)`
      : `${sql} > ${at} OR (${at} IS NULL AND ${sql} IS NOT NULL)`
    return rest === '' ? `(${beyond})` : `(${beyond} OR (${sql} IS ${at} AND ${rest}))`
  }, '')
  const { sql, descending } = order[0]!
  const bound = `${sql} ${descending ? '<=' : '>='} json_extract(:position, '$[0]')`
  return (from) => (from === 'behind' ? `${bound} AND ${lexical}` : lexical)
}

/** Behind a NULL there is everything, and NULL itself stands behind everything that descends. */
function fromOf(order: readonly OrderSql[]): (position: string | null) => From {
  const [first] = order
  return (position) => {
    if (position === null) return 'beginning'
    if (first === undefined) return 'behind'
    const unbounded = (first.descending && first.nullable) || (JSON.parse(position) as unknown[])[0] === null
    return unbounded ? 'behind-unbounded' : 'behind'
  }
}
