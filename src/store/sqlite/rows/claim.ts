import { keysAmong, rowId } from '../../../model/row.ts'
import type { RowClaim, RowClaimRequest } from '../../ports/rows.ts'
import { fillSlots, inSlots, runInSlots } from '../file/slots.ts'
import type { Statements } from '../file/statements.ts'
import { nextFence } from '../tasks/claim.ts'
import type { KnownDiscovery } from './discovery-cache.ts'
import { attemptsOf, type FoundRow, findBehind, findRowByKey, isOutdated, placeOfRow, rowOf } from './find.ts'
import { forgetEntry } from './ledger.ts'

/** Suspects that one claim looks at; those that need nothing any more are taken out of the ledger meanwhile. */
const SUSPECTS_MAX = 50

/** Claimed together: so many are worth telling others where they end. */
const TOLD_MIN = 50

/** Rows that were claimed together. The first `start` begin at once. */
export interface HeldBatch {
  known: KnownDiscovery
  found: readonly FoundRow[]
  fence: number
  start: number
  suspect: boolean
}

/** Whom they are claimed for. */
export interface Claiming {
  session: number
  now: number
  fence: number
}

/** How many rows are still wanted, and how many of them start at once. */
export interface StillWanted {
  start: number
  count: number
}

/** Inside a write transaction: takes what waits behind the scan cursor, and moves it on. */
export function claimBehind(
  db: Statements,
  known: KnownDiscovery,
  { start, count }: StillWanted,
  claiming: Claiming,
): HeldBatch | null {
  for (const position of known.hand.places()) {
    const found = findBehind(db, known, position, { count, now: claiming.now })
    if (found.length === 0) continue
    moveOn(db, known, found)
    return hold(db, { known, found, start, suspect: false }, claiming)
  }
  return null
}

/** Others learn of it only if that spares them a long walk over what we hold: it is a write. */
function moveOn(db: Statements, { name, hand }: KnownDiscovery, found: readonly FoundRow[]): void {
  const place = placeOfRow(found.at(-1)!)
  hand.found(place)
  if (found.length < TOLD_MIN) return
  db.sql('UPDATE gleaner_discoveries SET position = ? WHERE name = ?').run(place, name)
  hand.hear(place)
}

/** One that may have taken a worker down: it is run alone. */
export function claimSuspect(
  db: Statements,
  known: KnownDiscovery,
  { avoid }: RowClaimRequest,
  claiming: Claiming,
): HeldBatch | null {
  for (const key of waitingSuspects(db, known.name, claiming.now, SUSPECTS_MAX, avoid)) {
    const row = findRowByKey(db, known, key)
    if (row !== null && !isOutdated(row))
      return hold(db, { known, found: [row], start: 1, suspect: true }, claiming)
    forgetEntry(db, known.name, key)
  }
  return null
}

/** But for those that are avoided, which are few. */
export function waitingSuspects(
  db: Statements,
  discovery: string,
  now: number,
  limit: number,
  avoid: readonly string[] = [],
): string[] {
  const avoided = keysAmong(avoid, discovery)
  const keys = db
    .scalar(`SELECT row_key FROM gleaner_ledger l INDEXED BY gleaner_ledger_suspect
             WHERE discovery = ? AND suspect = 1 AND blocked_until <= ? AND NOT EXISTS (
               SELECT 1 FROM gleaner_claims c WHERE c.discovery = l.discovery AND c.row_key = l.row_key) LIMIT ?`)
    .all(discovery, now, limit + avoided.length) as string[]
  return keys.filter((key) => !avoided.includes(key)).slice(0, limit)
}

/** Keys and versions. */
const HOLD = inSlots(
  2,
  (
    rows,
  ) => `INSERT INTO gleaner_claims (discovery, row_key, session, fence, row_version, attempt, claimed_at, started_at)
             SELECT @name, column1, @session, @fence, column2, @attempt, @now, @startedAt FROM (VALUES ${rows}) WHERE column1 IS NOT NULL`,
)

function hold(db: Statements, batch: Omit<HeldBatch, 'fence'>, { session, now, fence }: Claiming): HeldBatch {
  const { known, found, start } = batch
  const { name } = known
  for (const row of found) if (isOutdated(row)) forgetEntry(db, name, row[0])
  const put = (some: readonly FoundRow[], startedAt: number | null) => {
    // Almost all of them are claimed for the first time: what they have in common is bound once.
    for (const [attempts, alike] of Map.groupBy(some, attemptsOf)) {
      const named = { name, session, fence, now, attempt: attempts + 1, startedAt }
      runInSlots(db, HOLD, fillSlots(HOLD.width, alike), named)
    }
  }
  const first = Math.max(0, start)
  put(found.slice(0, first), now)
  put(found.slice(first), null)
  return { ...batch, fence }
}

/** As their worker gets them. */
export function claimsOf({ known, found, fence, start, suspect }: HeldBatch): RowClaim[] {
  const { name, rows } = known
  const { maxAttempts } = rows.source
  return found.map((one, n) => {
    const [key] = one
    return {
      id: rowId(name, key),
      fence,
      discovery: name,
      key,
      row: rowOf(rows, one),
      attempt: attemptsOf(one) + 1,
      maxAttempts,
      started: n < start,
      suspect,
    }
  })
}

/** Lazily: a fence is spent only when something is claimed. */
export function claimingFor(db: Statements, session: number, now: number): Claiming {
  let fence: number | undefined
  return {
    session,
    now,
    get fence() {
      fence ??= nextFence(db)
      return fence
    },
  }
}
