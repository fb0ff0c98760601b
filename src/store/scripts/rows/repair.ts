import type { Dialect } from '../../sql/dialect.ts'
import type { DiscoveryScripts, DiscoverySql } from '../../sql/discovery-sql.ts'
import { change, rows, type Script } from '../../sql/script.ts'
import type { Scripts } from '../../sql/scripts.ts'
import { type Fragment, sql, verbatim } from '../../sql/sql.ts'

interface Place {
  table: 'claims' | 'ledger'
  discovery: string
  key: string
}

const BEGINNING: Place = { table: 'claims', discovery: '', key: '' }

export interface RepairStep {
  limit: number
  after: string | null
}

/**
 * A bounded step through the claims and then through the ledger: removes what no row and no session needs any more. A worker that
 * still runs a row that is no longer eligible works in vain.
 */
export async function repairRows(
  { db, read }: Scripts,
  discoveries: DiscoveryScripts,
  { limit, after }: RepairStep,
): Promise<{ removed: number; next: string | null }> {
  const place = after === null ? BEGINNING : (JSON.parse(after) as Place)
  const some = await read(() => placesBehind(place, limit))
  let removed = 0
  for (const [discovery, found] of Map.groupBy(some, (one) => one.discovery)) {
    const keys = found.map(({ key }) => key)
    removed += await discoveries
      .writeStep(discovery, (known) => removeNeedless(db, place.table, { discovery, known, keys }))
      .catch((error) => {
        // The condition fails on a row: the next claim pauses the discovery.
        if (discoveries.isOwnFault(error)) return 0
        throw error
      })
  }
  const last = some.at(-1)
  if (last !== undefined && some.length === limit)
    return { removed, next: JSON.stringify({ table: place.table, ...last }) }
  return {
    removed,
    next: place.table === 'claims' ? JSON.stringify({ ...BEGINNING, table: 'ledger' }) : null,
  }
}

function placesBehind(
  { table, discovery, key }: Place,
  limit: number,
): Script<{ discovery: string; key: string }[]> {
  return rows(sql`
    SELECT discovery, row_key AS key FROM ${verbatim(`gleaner.${table}`)} WHERE (discovery, row_key) > (${discovery}, ${key})
    ORDER BY discovery, row_key LIMIT ${limit}`)
}

interface Found {
  discovery: string
  /** An error: the declaration does not fit the table, so it is not known which rows it means. */
  known: DiscoverySql | Error
  keys: readonly string[]
}

function* removeNeedless(db: Dialect, table: Place['table'], found: Found): Script<number> {
  if (table === 'claims') return yield* endNeedlessClaims(db, found)
  return found.known instanceof Error ? 0 : yield* forgetOutdated(db, found.known, found.keys)
}

/** The session of a needless claim has ended, or its row is no longer eligible. */
function endNeedlessClaims(db: Dialect, { discovery, known, keys }: Found): Script<number> {
  const isNeedless =
    known instanceof Error ? sql`false` : sql`NOT EXISTS (${eligibleRow(known, 'gleaner_claim')})`
  return change(sql`
    DELETE FROM gleaner.claims AS gleaner_claim WHERE discovery = ${discovery} AND row_key ${db.oneOf(keys)} AND (
      NOT EXISTS (SELECT 1 FROM gleaner.sessions AS s WHERE s.id = gleaner_claim.session AND s.ended_at IS NULL) OR ${isNeedless})`)
}

/** Entries of rows that were edited since, or are no longer eligible. */
export function* forgetOutdated(db: Dialect, known: DiscoverySql, keys: readonly string[]): Script<number> {
  const adopted = known.adoptCopied(keys)
  if (adopted !== null) yield* change(adopted)
  return yield* change(sql`DELETE FROM gleaner.ledger AS gleaner_entry WHERE ${isOutdated(db, known, keys)}`)
}

export function outdatedEntries(
  db: Dialect,
  known: DiscoverySql,
  keys: readonly string[],
): Script<{ key: string }[]> {
  return rows(
    sql`SELECT row_key AS key FROM gleaner.ledger AS gleaner_entry WHERE ${isOutdated(db, known, keys)}`,
  )
}

function isOutdated(db: Dialect, known: DiscoverySql, keys: readonly string[]): Fragment {
  return sql`discovery = ${known.name} AND row_key ${db.oneOf(keys)}
    AND NOT EXISTS (SELECT 1 FROM gleaner.claims AS c WHERE c.discovery = gleaner_entry.discovery AND c.row_key = gleaner_entry.row_key)
    AND NOT EXISTS (${eligibleRow(known, 'gleaner_entry')} AND ${known.isAsIn('gleaner_entry')})`
}

/** `alias`: of a claim or an entry of the ledger. */
export function eligibleRow(known: DiscoverySql, alias: string): Fragment {
  return sql`SELECT 1 FROM ${known.table} WHERE ${known.hasKey(verbatim(`${alias}.row_key`))} AND ${known.eligible}`
}
