import type { DiscoverySource } from '../../ports/rows.ts'
import { orderOf } from '../../source.ts'
import type { DiscoverySql } from '../../sql/discovery-sql.ts'
import { around, ofUser, sql } from '../../sql/sql.ts'
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
  /** The values of a place; 0: a place is the text of a key. */
  readonly placeSize: number
  /** Which row: `key` is an SQL expression of its text. */
  readonly isRow: (key: string) => string
  readonly version: string
  /** What finds the next ones: the keys of eligible rows behind a position, in order. `position`: an SQL expression of its text. */
  readonly next: (from: From, position?: string) => string
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
  const inOrder = [...order.map(directed), ...key].join(', ')
  const indexed = index === null ? '' : ` INDEXED BY ${quoted(index)}`
  const present = key.map((part) => `${part} IS NOT NULL`).join(' AND ')
  return {
    source,
    columns,
    table,
    eligible,
    keyText,
    placeSize: single && order.length === 0 ? 0 : order.length + key.length,
    isRow,
    version: source.version === null ? versionSql(versioned) : `quote(${column(source.version)})`,
    from: fromOf(order),
    isOrdered: order.length > 0,
    next: (from, position = ':position') =>
      `SELECT ${key.map((part, n) => `${part} AS k${n}`).join(', ')}, ${keyText} AS k, ${place} AS place
       FROM ${table}${indexed} WHERE ${eligible} AND ${from === 'beginning' ? present : behind(from, position)} ORDER BY ${inOrder}`,
    joinNext: key.map((part, n) => `${part} = e.k${n}`).join(' AND '),
  }
}

function directed({ sql, descending }: OrderSql): string {
  return descending ? `${sql} DESC` : sql
}

type Behind = (from: From, position: string) => string

function behindKey(key: readonly string[]): Behind {
  if (key.length === 1) return (_, position) => `${key[0]} > ${position}`
  return (_, position) =>
    `(${key.join(', ')}) > (${key.map((_, n) => `json_extract(${position}, '$[${n}]')`).join(', ')})`
}

interface OrderSql {
  sql: string
  descending: boolean
  nullable: boolean
}

/** NULL comes first in SQLite. The bound on the first column is there for the index alone. */
function behindOrder(order: readonly OrderSql[], key: readonly string[]): Behind {
  const all = [...order, ...key.map((sql) => ({ sql, descending: false, nullable: false }))]
  const lexical = (position: string) =>
    all.reduceRight((rest, { sql, descending }, n) => {
      const at = `json_extract(${position}, '$[${n}]')`
      const beyond = descending
        ? `${sql} < ${at} OR (${at} IS NOT NULL AND ${sql} IS NULL)`
        : `${sql} > ${at} OR (${at} IS NULL AND ${sql} IS NOT NULL)`
      return rest === '' ? `(${beyond})` : `(${beyond} OR (${sql} IS ${at} AND ${rest}))`
    }, '')
  const { sql, descending } = order[0]!
  return (from, position) => {
    if (from !== 'behind') return lexical(position)
    return `${sql} ${descending ? '<=' : '>='} json_extract(${position}, '$[0]') AND ${lexical(position)}`
  }
}

/** For the scripts that both databases run. */
export function discoverySql(rows: RowSource): DiscoverySql {
  const { source, placeSize } = rows
  return {
    name: source.name,
    keySize: source.key.length,
    placeSize,
    table: ofUser(rows.table),
    eligible: ofUser(rows.eligible),
    hasKey: (key) => around(key, rows.isRow),
    isAsIn: (entry) => ofUser(`${rows.version} = ${entry}.row_version`),
    next: (place, count) => {
      const selected = around(sql`${place}`, (position) => rows.next(rows.from(place), position))
      return sql`SELECT k AS key, place FROM (${selected}) AS next LIMIT ${count}`
    },
    isUnreadable: () => false,
    // biome-ignore lint/correctness/useYield: any JSON array of the right size can be compared
    *readsPlace() {
      return true
    },
    adoptCopied: () => null,
  }
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
