import { hash } from 'node:crypto'
import type Database from 'better-sqlite3'

/** Arguments of one call; SQLite allows 127. */
const ARGUMENTS_MAX = 100

/** What a short row is in bytes, and in columns: beyond that it is digested. */
const SHORT_BYTES = 120
const SHORT_COLUMNS = 20

/**
 * What a row without a version column is compared by: all its values with their types. A digest, because the ledger keeps it for
 * each row that failed; unless they are short, and JSON can hold them: SQLite itself writes that in a fifth of the time.
 */
export function versionSql(columns: readonly string[]): string {
  const digest = digestSql(columns)
  if (columns.length === 0 || columns.length > SHORT_COLUMNS) return digest
  const bytes = columns.map((column) => `ifnull(octet_length(${column}), 0)`).join(' + ')
  const noBlobs = columns.map((column) => `typeof(${column}) <> 'blob'`).join(' AND ')
  return `CASE WHEN ${bytes} <= ${SHORT_BYTES} AND ${noBlobs} THEN json_array(${columns.join(', ')}) ELSE ${digest} END`
}

export function registerDigest(raw: Database.Database): void {
  raw.function(
    'gleaner_digest',
    { varargs: true, deterministic: true, safeIntegers: true },
    digestOf as never,
  )
}

function digestOf(...values: (bigint | number | string | Buffer | null)[]): string {
  let text = ''
  for (const value of values) text += Buffer.isBuffer(value) ? `b${hash('sha1', value)};` : tagged(value)
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
