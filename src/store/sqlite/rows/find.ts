import type { ColumnValue, RowValues } from '../../../model/row.ts'
import type { Statements } from '../statements.ts'
import type { Known } from './book.ts'
import type { Walked } from './hand.ts'
import { quoted, type RowSource } from './source-sql.ts'

/** Eligible rows that one look examines at most, beyond what it is to find. */
const EXAMINED_MAX = 1_000

/** A row that waits, as it is now. */
export interface FoundRow {
  key: string
  place: string
  version: string
  /** What the ledger says of it, if it still is the row that it speaks of. */
  attempts: number
  /** The ledger speaks of the row before it was edited. */
  outdated: boolean
  row: RowValues
}

/** The next ones that wait behind the position: `count` of them at most, among a bounded number of eligible ones. */
export function findBehind(
  db: Statements,
  { name, rows }: Known,
  position: string | null,
  count: number,
  now: number,
): FoundRow[] {
  const sql = `SELECT e.k, e.place, ${rows.version}, l.attempts, l.row_version, ${columnsOf(rows)}
    FROM (${rows.next(position)} LIMIT :examined) e
    LEFT JOIN gleaner_ledger l ON l.discovery = :name AND l.row_key = e.k
    CROSS JOIN ${rows.table} ON ${rows.joinNext}
    WHERE NOT EXISTS (SELECT 1 FROM gleaner_claims c WHERE c.discovery = :name AND c.row_key = e.k)
      AND (l.row_key IS NULL OR (l.blocked_until <= :now AND l.suspect = 0))
    LIMIT :count`
  const bound = {
    name,
    now,
    count,
    examined: count + EXAMINED_MAX,
    ...(position === null ? {} : { position }),
  }
  return (exactRows(db, sql).all(bound) as unknown[][]).map((values) => foundRow(rows, values))
}

/** Whether there is any; a look that takes no lock. */
export function isAnyBehind(
  db: Statements,
  { name, rows }: Known,
  position: string | null,
  now: number,
): boolean {
  const sql = `SELECT 1 FROM (${rows.next(position)} LIMIT :examined) e
    WHERE NOT EXISTS (SELECT 1 FROM gleaner_claims c WHERE c.discovery = :name AND c.row_key = e.k)
      AND NOT EXISTS (SELECT 1 FROM gleaner_ledger l WHERE l.discovery = :name AND l.row_key = e.k
                        AND (l.blocked_until > :now OR l.suspect = 1)) LIMIT 1`
  const bound = { name, now, examined: 1 + EXAMINED_MAX, ...(position === null ? {} : { position }) }
  return db.scalar(sql).get(bound) !== undefined
}

/** How far a look came that brought nothing. */
export function walkedBehind(db: Statements, { rows }: Known, position: string | null): Walked {
  const next = rows.next(position)
  const limit = 1 + EXAMINED_MAX
  const bound = position === null ? {} : { position }
  const examined = db.scalar(`SELECT count(*) FROM (${next} LIMIT :limit)`).get({ ...bound, limit }) as number
  const place =
    examined === 0
      ? null
      : (db
          .scalar(`SELECT place FROM (${next} LIMIT 1 OFFSET :skip)`)
          .get({ ...bound, skip: examined - 1 }) as string)
  return { examined, place, atEnd: examined < limit }
}

/** This one, if it is eligible. */
export function findRow(db: Statements, { name, rows }: Known, key: string): FoundRow | null {
  const sql = `SELECT ${rows.keyText}, '', ${rows.version},
      (SELECT attempts FROM gleaner_ledger WHERE discovery = :name AND row_key = :key),
      (SELECT row_version FROM gleaner_ledger WHERE discovery = :name AND row_key = :key), ${columnsOf(rows)}
    FROM ${rows.table} WHERE ${rows.isRow(':key')} AND ${rows.eligible}`
  const values = exactRows(db, sql).get({ name, key }) as unknown[] | undefined
  return values === undefined ? null : foundRow(rows, values)
}

function columnsOf({ columns, source }: RowSource): string {
  return columns.map((column) => `${quoted(source.table)}.${quoted(column)}`).join(', ')
}

/** Arrays, because the user's columns may have any name; integers as they are. */
function exactRows(db: Statements, sql: string) {
  return db.sql(sql).raw(true).safeIntegers(true)
}

function foundRow({ columns }: RowSource, values: unknown[]): FoundRow {
  const [key, place, version, attempts, ledgerVersion] = values as [
    string,
    string,
    string,
    bigint | null,
    string | null,
  ]
  const row: RowValues = {}
  for (const [n, column] of columns.entries()) row[column] = exact(values[n + 5])
  const outdated = ledgerVersion !== null && ledgerVersion !== version
  return { key, place, version, attempts: outdated ? 0 : Number(attempts ?? 0), outdated, row }
}

function exact(value: unknown): ColumnValue {
  if (typeof value !== 'bigint') return value as ColumnValue
  return Number.isSafeInteger(Number(value)) ? Number(value) : value
}
