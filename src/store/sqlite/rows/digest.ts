import { hash } from 'node:crypto'
import type { SqliteDatabase } from '../drivers/driver.ts'
import { affinityOf } from './affinity.ts'

/** Arguments of one call; SQLite allows 127. */
const ARGUMENTS_MAX = 100

/** What a short row is in bytes of text, and in columns: beyond that it is digested. */
const SHORT_BYTES = 120
const SHORT_COLUMNS = 20

/** A column that a version is made of. */
export interface Versioned {
  sql: string
  type: string
}

/**
 * What a row without a version column is compared by: all its values with their types. A digest, because the ledger keeps it for
 * each row that failed; unless they are short, and JSON can hold them: SQLite itself writes that in a fifth of the time.
 */
export function versionSql(columns: readonly Versioned[]): string {
  const names = columns.map(({ sql }) => sql)
  const digest = digestSql(names)
  if (columns.length === 0 || columns.length > SHORT_COLUMNS) return digest
  const texts = columns.filter(mayBeLong).map(({ sql }) => `ifnull(octet_length(${sql}), 0)`)
  const isShort = texts.length === 0 ? [] : [`${texts.join(' + ')} <= ${SHORT_BYTES}`]
  // Whatever is no blob is less than the empty one, in any order: to ask for the type takes four times as long.
  const noBlobs = names.map((name) => `(${name} COLLATE BINARY < x'' OR ${name} IS NULL)`)
  return `CASE WHEN ${[...isShort, ...noBlobs].join(' AND ')} THEN json_array(${names.join(', ')}) ELSE ${digest} END`
}

/** A number is short; a long text in a column for numbers makes a long version, which is as right as a short one. */
function mayBeLong({ type }: Versioned): boolean {
  const affinity = affinityOf(type)
  return affinity !== 'INTEGER' && affinity !== 'REAL'
}

export function registerDigest(raw: SqliteDatabase): void {
  raw.function('gleaner_digest', { varargs: true, deterministic: true, safeIntegers: true }, digestOf)
}

function digestOf(...values: (bigint | number | string | Uint8Array | null)[]): string {
  let text = ''
  for (const value of values) text += value instanceof Uint8Array ? `b${hash('sha1', value)};` : tagged(value)
  return hash('sha1', text, 'base64')
}

function tagged(value: bigint | number | string | null): string {
  if (value === null) return 'n;'
  if (typeof value === 'string') return `s${value.length}:${value};`
  return typeof value === 'bigint' ? `i${value};` : `r${Object.is(value, -0) ? '-0' : value};`
}

/** An expression over these, however many they are. */
function digestSql(columns: readonly string[]): string {
  const [first, ...more] = chunks(columns)
  return more.reduce(
    (sql, chunk) => `gleaner_digest(${[sql, ...chunk].join(', ')})`,
    `gleaner_digest(${(first ?? []).join(', ')})`,
  )
}

function chunks(columns: readonly string[]): string[][] {
  const all: string[][] = []
  for (let at = 0; at < columns.length; at += ARGUMENTS_MAX) all.push(columns.slice(at, at + ARGUMENTS_MAX))
  return all
}
