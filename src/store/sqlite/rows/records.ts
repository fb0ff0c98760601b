import type { RowRecord, RowState } from '../../../model/row.ts'
import type { RowCircumstances } from '../../../model/row-explanation.ts'
import type { Page } from '../../../model/task.ts'
import { badCursor, readPlace, writePlace } from '../../cursor.ts'
import { PageBytes } from '../../page-bytes.ts'
import type { PageRequest } from '../../ports/page.ts'
import { SERVING, type ServingRow, serving } from '../../serving-row.ts'
import type { Statements } from '../file/statements.ts'
import type { DiscoveryCache, KnownDiscovery } from './discovery-cache.ts'
import { entryOf, type LedgerRow, readEntry } from './ledger.ts'
import { knownOrProblem } from './repair.ts'

/** Rows that one page looks at, so that it answers soon although few fit. */
const EXAMINED_MAX = 5_000

export function readRow(db: Statements, known: KnownDiscovery, key: string, now: number): RowRecord | null {
  const { name, statements, rows } = known
  if (!rows.isKey(key)) return null
  const version = db.scalar(statements.versionOf).get({ key }) as string | undefined
  if (version === undefined) return null
  const entry = readEntry(db, name, key)
  const claim = db
    .sql(`SELECT c.claimed_at, s.worker FROM gleaner_claims c LEFT JOIN gleaner_sessions s ON s.id = c.session
          WHERE c.discovery = ? AND c.row_key = ?`)
    .get(name, key) as { claimed_at: number; worker: string | null } | undefined
  // What is said of the row before it was edited does not hold any more.
  return recordOf(key, entry?.row_version === version ? entry : undefined, claim, now)
}

function recordOf(
  key: string,
  row: LedgerRow | undefined,
  claim: { claimed_at: number; worker: string | null } | undefined,
  now: number,
): RowRecord {
  const entry = row === undefined ? undefined : entryOf(row)
  const state: RowState = claim ? 'claimed' : blockedState(row, now)
  return {
    key,
    state,
    attempts: entry?.attempts ?? 0,
    crashes: entry?.crashes ?? 0,
    error: entry?.error ?? null,
    worker: claim?.worker ?? null,
    since: claim?.claimed_at ?? (state === 'waiting' ? null : (row?.since ?? null)),
    nextAt: state === 'backing-off' ? (row?.blocked_until ?? null) : null,
    history: entry?.history ?? [],
  }
}

function blockedState(row: LedgerRow | undefined, now: number): RowState {
  if (row?.quarantined === 1) return 'quarantined'
  return row !== undefined && row.blocked_until > now ? 'backing-off' : 'waiting'
}

export function listRows(
  db: Statements,
  known: KnownDiscovery,
  { state }: { state?: RowState },
  { limit, cursor }: PageRequest,
  now: number,
): Page<RowRecord> {
  const items: RowRecord[] = []
  const bytes = new PageBytes()
  let place = readPlace(cursor)
  for (let examined = 0; examined < EXAMINED_MAX; ) {
    const some = candidates(db, known, state, place, limit, now)
    for (const { key, place: here } of some) {
      const record = readRow(db, known, key, now)
      const isListed = record !== null && (state === undefined || record.state === state)
      if (isListed && !bytes.hasRoomFor(record)) return { items, next: writePlace(place!) }
      place = here
      if (!isListed) continue
      items.push(record)
      if (items.length === limit) return { items, next: writePlace(place) }
    }
    if (some.length < limit) return { items, next: null }
    examined += some.length
  }
  return { items, next: place === null ? null : writePlace(place) }
}

interface Candidate {
  key: string
  place: string
}

/** Who may be in this state, behind a place, in the order of the listing. */
function candidates(
  db: Statements,
  { name, rows }: KnownDiscovery,
  state: RowState | undefined,
  place: string | null,
  limit: number,
  now: number,
): Candidate[] {
  const after = place ?? ''
  if (state === 'claimed') {
    return db
      .sql(`SELECT row_key AS key, row_key AS place FROM gleaner_claims WHERE discovery = ? AND row_key > ?
            ORDER BY row_key LIMIT ?`)
      .all(name, after, limit) as Candidate[]
  }
  if (state === 'backing-off' || state === 'quarantined') {
    return db
      .sql(`SELECT row_key AS key, row_key AS place FROM gleaner_ledger
            WHERE discovery = ? AND row_key > ? AND quarantined = ? AND blocked_until > ? ORDER BY row_key LIMIT ?`)
      .all(name, after, state === 'quarantined' ? 1 : 0, now, limit) as Candidate[]
  }
  if (place !== null && !rows.isPlace(place)) throw badCursor()
  const bound = place === null ? {} : { position: place }
  return db
    .sql(`SELECT k AS key, place FROM (${rows.next(rows.from(place))} LIMIT :limit)`)
    .all({ ...bound, limit }) as Candidate[]
}

export function readRowCircumstances(
  db: Statements,
  book: DiscoveryCache,
  name: string,
  key: string,
  now: number,
): RowCircumstances {
  const { paused, pausedReason, createIndex, where } = book.record(name)
  const known = knownOrProblem(book, name)
  const workers = db
    .sql(`SELECT ${SERVING} FROM gleaner_sessions WHERE ended_at IS NULL ORDER BY id`)
    .all() as ServingRow[]
  return {
    discovery: name,
    key,
    problem: known instanceof Error ? known.message : null,
    exists: !(known instanceof Error) && isThere(db, known, key),
    row: known instanceof Error ? null : readRow(db, known, key, now),
    where,
    now,
    suspect: readEntry(db, name, key)?.suspect === 1,
    everythingPaused: db.scalar(`SELECT value FROM gleaner_meta WHERE key = 'paused'`).get() !== 0,
    paused,
    pausedReason,
    createIndex,
    workers: workers.map(serving),
  }
}

function isThere(db: Statements, { rows }: KnownDiscovery, key: string): boolean {
  if (!rows.isKey(key)) return false
  return db.scalar(`SELECT 1 FROM ${rows.table} WHERE ${rows.isRow(':key')}`).get({ key }) !== undefined
}
