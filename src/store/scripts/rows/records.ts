import type { RowRecord, RowState } from '../../../model/row.ts'
import { ineligibleRecord, rowRecord } from '../../../model/row-record.ts'
import type { Page } from '../../../model/task.ts'
import { badCursor, isTuple, readPlace, writePlace } from '../../cursor.ts'
import { type LedgerRow, ledgerEntryOf } from '../../ledger-row.ts'
import { PageBytes } from '../../page-bytes.ts'
import type { PageRequest } from '../../ports/page.ts'
import type { Dialect } from '../../sql/dialect.ts'
import type { DiscoverySql } from '../../sql/discovery-sql.ts'
import { one, rows, type Script } from '../../sql/script.ts'
import { type Fragment, sql } from '../../sql/sql.ts'

/** Rows that one page reads at most, so that it answers soon even if few have the state. */
const EXAMINED_MAX = 5_000

/** Null: there is no such row, or it is not eligible. */
export function* readRow(db: Dialect, known: DiscoverySql, key: string): Script<RowRecord | null> {
  if (!isKeyOf(known, key)) return null
  const now = yield* db.time()
  try {
    const [row] = yield* readStates(
      known,
      sql`SELECT CAST(${key} AS text) AS key, CAST(NULL AS text) AS place, 1 AS n`,
    )
    return row === undefined ? null : recordOf(row, now)
  } catch (error) {
    if (known.isUnreadable(error)) return null
    throw error
  }
}

/** Null: the table has no such row. */
export function* findRow(db: Dialect, known: DiscoverySql, key: string): Script<RowRecord | null> {
  const eligible = yield* readRow(db, known, key)
  if (eligible !== null) return eligible
  return (yield* isThere(known, key)) ? ineligibleRecord(key) : null
}

export function* isThere(known: DiscoverySql, key: string): Script<boolean> {
  if (!isKeyOf(known, key)) return false
  try {
    const found = yield* one(
      sql`SELECT 1 AS one FROM ${known.table} WHERE ${known.hasKey(sql`CAST(${key} AS text)`)}`,
    )
    return found !== undefined
  } catch (error) {
    if (known.isUnreadable(error)) return false
    throw error
  }
}

/** A key of several columns is a JSON array. */
export function isKeyOf({ keySize }: DiscoverySql, text: string): boolean {
  return keySize === 1 || isTuple(text, keySize)
}

export interface RowListing {
  state?: RowState | undefined
}

export function* listRows(
  db: Dialect,
  known: DiscoverySql,
  { state }: RowListing,
  { limit, cursor }: PageRequest,
): Script<Page<RowRecord>> {
  const items: RowRecord[] = []
  const bytes = new PageBytes()
  const now = yield* db.time()
  let place = readPlace(cursor)
  if (place !== null && !(yield* isPlaceOf(known, state, place))) throw badCursor()
  for (let examined = 0; examined < EXAMINED_MAX; examined += limit) {
    const some = yield* readStates(known, candidates(db, known, state, { place, limit, now }))
    for (const row of some) {
      const record = recordOf(row, now)
      const isListed = record !== null && (state === undefined || record.state === state)
      if (isListed && !bytes.hasRoomFor(record)) return { items, next: writePlace(place!) }
      place = row.place
      if (!isListed) continue
      items.push(record)
      if (items.length === limit) return { items, next: writePlace(place) }
    }
    if (some.length < limit) return { items, next: null }
  }
  return { items, next: place === null ? null : writePlace(place) }
}

/** Rows that have a claim or an entry of the ledger are listed by their key. */
function* isPlaceOf(known: DiscoverySql, state: RowState | undefined, place: string): Script<boolean> {
  if (state !== undefined && state !== 'waiting') return true
  if (known.placeSize > 1 && !isTuple(place, known.placeSize)) return false
  return yield* known.readsPlace(place)
}

/** Selects the `key` and the `place` of rows that may have this state, and their number `n` in the order of the listing. */
function candidates(
  db: Dialect,
  known: DiscoverySql,
  state: RowState | undefined,
  { place, limit, now }: { place: string | null; limit: number; now: number },
): Fragment {
  const numbered = (selected: Fragment) =>
    sql`SELECT key, place, pg_catalog.row_number() OVER () AS n FROM (${selected}) AS one`
  const remembered = (from: Fragment) =>
    numbered(sql`
      SELECT row_key AS key, row_key AS place FROM ${from} AND row_key ${db.bytewise} > ${place ?? ''}
      ORDER BY row_key ${db.bytewise} LIMIT ${limit}`)
  if (state === 'claimed') return remembered(sql`gleaner.claims WHERE discovery = ${known.name}`)
  if (state === 'quarantined' || state === 'backing-off' || state === 'suspended')
    return remembered(sql`
      gleaner.ledger WHERE discovery = ${known.name} AND quarantined = ${state === 'quarantined'}
        AND suspended = ${state === 'suspended'} AND blocked_until > ${now}`)
  return numbered(known.next(place, limit))
}

interface StateRow extends Partial<LedgerRow> {
  key: string
  place: string
  /** Null: the row is not there, or not eligible. Otherwise whether the ledger speaks of the row as it is now. */
  unchanged: boolean | number | null
  claimed_at: number | null
  worker: string | null
}

/** Each row is found by its key, in a subquery of its own: a join would let PostgreSQL read the whole table. */
function readStates(known: DiscoverySql, selected: Fragment): Script<StateRow[]> {
  return rows<StateRow>(sql`
    SELECT gleaner_row.key, gleaner_row.place, gleaner_entry.attempts, gleaner_entry.crashes, gleaner_entry.changes,
      gleaner_entry.suspect, gleaner_entry.quarantined, gleaner_entry.suspended, gleaner_entry.blocked_until, gleaner_entry.error, gleaner_entry.history,
      gleaner_entry.since, c.claimed_at, s.worker,
      (SELECT COALESCE(${known.isAsIn('gleaner_entry')}, false) FROM ${known.table}
       WHERE ${known.hasKey(sql`gleaner_row.key`)} AND ${known.eligible}) AS unchanged
    FROM (${selected}) AS gleaner_row
    LEFT JOIN gleaner.ledger AS gleaner_entry ON gleaner_entry.discovery = ${known.name} AND gleaner_entry.row_key = gleaner_row.key
    LEFT JOIN gleaner.claims AS c ON c.discovery = ${known.name} AND c.row_key = gleaner_row.key
    LEFT JOIN gleaner.sessions AS s ON s.id = c.session
    ORDER BY gleaner_row.n`)
}

/** What the ledger says of a row that was edited since does not count. */
function recordOf(row: StateRow, now: number): RowRecord | null {
  if (row.unchanged === null) return null
  const entry = row.unchanged && row.history != null ? (row as LedgerRow) : null
  return rowRecord(
    row.key,
    row.claimed_at === null ? null : { since: row.claimed_at, worker: row.worker },
    entry === null ? null : { ...ledgerEntryOf(entry), since: entry.since },
    now,
  )
}
