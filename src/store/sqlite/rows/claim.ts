import { keysAmong, rowId } from '../../../model/row.ts'
import type { RowClaim, RowWant } from '../../rows.ts'
import type { Statements } from '../file/statements.ts'
import { nextFence } from '../tasks/claim.ts'
import type { Known } from './book.ts'
import { type FoundRow, findBehind, findRow } from './find.ts'
import { forgetEntry } from './ledger.ts'

/** Suspects that one claim looks at; those that need nothing any more are taken out of the ledger meanwhile. */
const SUSPECTS_MAX = 50

/** Claimed together: so many are worth telling others where they end. */
const TOLD_MIN = 50

/** Whom they are claimed for. */
export interface Claiming {
  session: number
  now: number
  fence: number
}

/** Inside a write transaction: takes what waits where the hand is, and moves it on. */
export function claimBehind(
  db: Statements,
  known: Known,
  want: RowWant,
  claiming: Claiming,
  taken: number,
): RowClaim[] {
  const count = want.start + want.ahead - taken
  for (const position of known.hand.places()) {
    const found = findBehind(db, known, position, count, claiming.now)
    if (found.length === 0) continue
    moveOn(db, known, found)
    return hold(db, known, found, claiming, want.start - taken, false)
  }
  return []
}

/** Others learn of it only if that spares them a long walk over what we hold: it is a write. */
function moveOn(db: Statements, { name, hand }: Known, found: readonly FoundRow[]): void {
  const { place } = found.at(-1)!
  hand.found(place)
  if (found.length < TOLD_MIN) return
  db.sql('UPDATE gleaner_discoveries SET position = ? WHERE name = ?').run(place, name)
  hand.hear(place)
}

/** One that may have taken a worker down: it is run alone. */
export function claimSuspect(
  db: Statements,
  known: Known,
  { avoid }: RowWant,
  claiming: Claiming,
): RowClaim | null {
  for (const key of waitingSuspects(db, known.name, claiming.now, SUSPECTS_MAX, avoid)) {
    const row = findRow(db, known, key)
    if (row !== null && !row.outdated) return hold(db, known, [row], claiming, 1, true)[0]!
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

/** One statement for all of them. The first `start` begin at once. */
function hold(
  db: Statements,
  { name, rows }: Known,
  found: readonly FoundRow[],
  { session, now, fence }: Claiming,
  start: number,
  suspect: boolean,
): RowClaim[] {
  for (const { key, outdated } of found) if (outdated) forgetEntry(db, name, key)
  db.sql(`INSERT INTO gleaner_claims (discovery, row_key, session, fence, row_version, attempt, claimed_at, started_at)
          SELECT ?, value ->> 0, ?, ?, value ->> 1, value ->> 2, ?, iif(key < ?, ?, NULL) FROM json_each(?)`).run(
    name,
    session,
    fence,
    now,
    start,
    now,
    JSON.stringify(found.map(({ key, version, attempts }) => [key, version, attempts + 1])),
  )
  const { maxAttempts } = rows.source
  return found.map(({ key, attempts, row }, n) => ({
    id: rowId(name, key),
    fence,
    discovery: name,
    key,
    row,
    attempt: attempts + 1,
    maxAttempts,
    started: n < start,
    suspect,
  }))
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
