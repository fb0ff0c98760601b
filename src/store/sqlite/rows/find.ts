import type { ColumnValue, RowValues } from '../../../model/row.ts'
import type { Statements } from '../file/statements.ts'
import type { KnownDiscovery } from './discovery-cache.ts'
import type { ScannedStep } from './scan-cursor.ts'
import type { RowSource } from './source-sql.ts'

/** Eligible rows that one look examines at most, beyond what it is to find. */
const EXAMINED_MAX = 1_000

/** A row that waits, as it is now, just as it was read: while the file is locked there is no time to put it into words. */
export type FoundRow = readonly [
  key: string,
  version: string,
  /** Where the user gave an order. */
  place: string | null,
  /** What the ledger says of it, or of the row before it was edited. */
  attempts: bigint | null,
  ledgerVersion: string | null,
  ...values: unknown[],
]

/** Columns of our own before those of the row. */
const LEAD = 5

/** The next ones that wait behind a position: `count` of them at most, among a bounded number of eligible ones. */
export function findBehind(
  db: Statements,
  known: KnownDiscovery,
  position: string | null,
  { count, now }: { count: number; now: number },
): FoundRow[] {
  const { name, rows, statements } = known
  const from = rows.from(position)
  const bound = { name, now, count, examined: count + EXAMINED_MAX, ...at(position) }
  if (statements.findsByKey(db))
    return exactRows(db, statements.find(from)).all(bound) as unknown as FoundRow[]
  const keys = db.sql(statements.findKeys(from)).raw(true).all(bound) as unknown as [string, string | null][]
  return keys.map(([key, place]) => {
    const [, version, , ...rest] = findRowByKey(db, known, key)!
    return [key, version, place, ...rest]
  })
}

/** Whether there is any; a look that takes no lock. */
export function isAnyBehind(
  db: Statements,
  { name, rows, statements }: KnownDiscovery,
  position: string | null,
  now: number,
): boolean {
  const bound = { name, now, examined: 1 + EXAMINED_MAX, ...at(position) }
  return db.scalar(statements.isAny(rows.from(position))).get(bound) !== undefined
}

/** How far a look came that brought nothing. */
export function scannedBehind(
  db: Statements,
  { rows, statements }: KnownDiscovery,
  position: string | null,
): ScannedStep {
  const from = rows.from(position)
  const limit = 1 + EXAMINED_MAX
  const examined = db.scalar(statements.countNext(from)).get({ ...at(position), limit }) as number
  if (examined === 0) return { examined, place: null, atEnd: true }
  const skip = examined - 1
  const place = db.scalar(statements.placeOfNext(from)).get({ ...at(position), skip }) as string
  return { examined, place, atEnd: examined < limit }
}

function at(position: string | null): { position?: string } {
  return position === null ? {} : { position }
}

/** This one, if it is eligible. */
export function findRowByKey(
  db: Statements,
  { name, statements }: KnownDiscovery,
  key: string,
): FoundRow | null {
  return (exactRows(db, statements.findRow()).get({ name, key }) as unknown as FoundRow | undefined) ?? null
}

/** Arrays, because the user's columns may have any name; integers as they are. */
function exactRows(db: Statements, sql: string) {
  return db.sql(sql).raw(true).safeIntegers(true)
}

/** The ledger speaks of the row before it was edited. */
export function isOutdated([, version, , , ledgerVersion]: FoundRow): boolean {
  return ledgerVersion !== null && ledgerVersion !== version
}

export function attemptsOf(row: FoundRow): number {
  const attempts = row[3]
  return attempts === null || isOutdated(row) ? 0 : Number(attempts)
}

export function placeOfRow([key, , place]: FoundRow): string {
  return place ?? key
}

export function rowOf({ columns }: RowSource, found: FoundRow): RowValues {
  const row: RowValues = {}
  for (const [n, column] of columns.entries()) row[column] = exact(found[LEAD + n])
  return row
}

function exact(value: unknown): ColumnValue {
  if (typeof value !== 'bigint') return value as ColumnValue
  return Number.isSafeInteger(Number(value)) ? Number(value) : value
}
