import { isUnanswerable } from '../file/sql-errors.ts'
import type { Statements } from '../file/statements.ts'
import { type DiscoveryCache, isOwnFault, type KnownDiscovery, type Review } from './discovery-cache.ts'
import { endClaim } from './held.ts'
import { forgetEntry } from './ledger.ts'

/** Entries that one look compares with their rows. */
const REVIEWED_MAX = 200

/** Entries of rows that were edited since, or need nothing any more: a bounded step, and round again. */
export function outdatedEntries(db: Statements, known: KnownDiscovery, review: Review): string[] {
  const keys = db
    .scalar('SELECT row_key FROM gleaner_ledger WHERE discovery = ? AND row_key > ? ORDER BY row_key LIMIT ?')
    .all(known.name, review.after, REVIEWED_MAX) as string[]
  review.after = keys.length < REVIEWED_MAX ? '' : keys.at(-1)!
  return outdatedOf(db, known, keys)
}

function outdatedOf(db: Statements, { name, rows }: KnownDiscovery, keys: readonly string[]): string[] {
  if (keys.length === 0) return []
  return db
    .scalar(`SELECT l.row_key FROM json_each(:keys) k CROSS JOIN gleaner_ledger l ON l.discovery = :name AND l.row_key = k.value
             WHERE NOT EXISTS (SELECT 1 FROM gleaner_claims c WHERE c.discovery = :name AND c.row_key = l.row_key)
               AND NOT EXISTS (SELECT 1 FROM ${rows.table} WHERE ${rows.isRow('l.row_key')} AND ${rows.eligible}
                                 AND ${rows.version} = l.row_version)`)
    .all({ name, keys: JSON.stringify(keys) }) as string[]
}

/** Inside a write transaction: those of them that are still so. */
export function forgetOutdated(db: Statements, known: KnownDiscovery, keys: readonly string[]): number {
  const still = outdatedOf(db, known, keys)
  for (const key of still) forgetEntry(db, known.name, key)
  return still.length
}

interface Place {
  table: 'claims' | 'ledger'
  discovery: string
  key: string
}

const BEGINNING: Place = { table: 'claims', discovery: '', key: '' }

/** Inside a write transaction: a bounded step through the claims, and then through the ledger. */
export function repairRows(
  db: Statements,
  book: DiscoveryCache,
  step: { limit: number; after: string | null },
): { removed: number; next: string | null } {
  const place = step.after === null ? BEGINNING : (JSON.parse(step.after) as Place)
  const some = db
    .sql(`SELECT discovery, row_key AS key FROM gleaner_${place.table} WHERE (discovery, row_key) > (?, ?)
          ORDER BY discovery, row_key LIMIT ?`)
    .all(place.discovery, place.key, step.limit) as { discovery: string; key: string }[]
  let removed = 0
  for (const [discovery, keys] of byDiscovery(some)) {
    try {
      const known = knownOrNull(book, discovery)
      if (place.table === 'claims') removed += endNeedless(db, known, discovery, keys)
      else if (known !== null) removed += forgetOutdated(db, known, keys)
    } catch (error) {
      // A condition that fails on some row: whoever claims next pauses it.
      if (!isUnanswerable(error)) throw error
    }
  }
  const last = some.at(-1)
  if (some.length < step.limit || last === undefined) {
    return {
      removed,
      next: place.table === 'claims' ? JSON.stringify({ ...BEGINNING, table: 'ledger' }) : null,
    }
  }
  return { removed, next: JSON.stringify({ table: place.table, ...last }) }
}

/** Whose session is over, and whose row needs nothing any more: who still runs it works in vain. */
function endNeedless(
  db: Statements,
  known: KnownDiscovery | null,
  discovery: string,
  keys: readonly string[],
): number {
  const needed =
    known === null
      ? ''
      : `AND EXISTS (SELECT 1 FROM ${known.rows.table} WHERE ${known.rows.isRow('c.row_key')} AND ${known.rows.eligible})`
  const kept = db
    .scalar(`SELECT c.row_key FROM json_each(:keys) k CROSS JOIN gleaner_claims c ON c.discovery = :discovery AND c.row_key = k.value
             JOIN gleaner_sessions s ON s.id = c.session AND s.ended_at IS NULL WHERE 1 ${needed}`)
    .all({ discovery, keys: JSON.stringify(keys) }) as string[]
  const needless = keys.filter((key) => !kept.includes(key))
  for (const key of needless) endClaim(db, discovery, key)
  return needless.length
}

function byDiscovery(rows: readonly { discovery: string; key: string }[]): Map<string, string[]> {
  const groups = new Map<string, string[]>()
  for (const { discovery, key } of rows) {
    const group = groups.get(discovery)
    if (group === undefined) groups.set(discovery, [key])
    else group.push(key)
  }
  return groups
}

/** Null: the declaration no longer fits its table, so that it is not known which rows it means. */
export function knownOrNull(book: DiscoveryCache, discovery: string): KnownDiscovery | null {
  const known = knownOrProblem(book, discovery)
  return known instanceof Error ? null : known
}

/** An error: why the declaration no longer fits its table. */
export function knownOrProblem(book: DiscoveryCache, discovery: string): KnownDiscovery | Error {
  try {
    return book.get(discovery)
  } catch (error) {
    if (isOwnFault(error)) return error
    throw error
  }
}
