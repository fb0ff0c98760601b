import { entryAfter, type RowTransition } from '../../../model/ledger.ts'
import { readRowId } from '../../../model/row.ts'
import type { GiveBack } from '../../../model/session.ts'
import type { DiscoverySource } from '../../ports/rows.ts'
import type { Sql } from '../server/sql.ts'
import type { DiscoveryCache } from './discovery-cache.ts'
import { type EndedClaim, endClaims, heldRow, type Remembered, readEntries, remember } from './ledger.ts'
import { readRowStates } from './row-to-settle.ts'

/** In a transaction: ends all claims of these sessions, and answers what they were, for the verdict. */
export async function takeRowsFrom(sql: Sql, sessions: readonly number[]): Promise<EndedClaim[]> {
  const claims = await endClaims(sql, 'c.session = ANY($1::bigint[])', [sessions])
  if (claims.length === 0) return []
  const entries = await readEntries(sql, claims)
  const rows = await sql.rows<{ source: string }>(
    'SELECT source FROM gleaner.discoveries WHERE name = ANY($1)',
    [[...new Set(claims.map(({ discovery }) => discovery))]],
  )
  const declared = new Map(
    rows.map(({ source }) => JSON.parse(source)).map((one: DiscoverySource) => [one.name, one]),
  )
  return claims.map((claim) => {
    const { id, started } = claim.held
    const entry = entries.get(id) ?? null
    const held = {
      ...heldRow(declared.get(claim.discovery) ?? claim.held, id, claim.attempt, entry),
      started,
    }
    return { ...claim, entry, held }
  })
}

/** In a transaction: executes the verdict. Answers how many of them are not to be had again. */
export async function giveRowsBack(
  sql: Sql,
  book: DiscoveryCache,
  claims: readonly EndedClaim[],
  { transitions, now }: { transitions: GiveBack['transitions']; now: number },
): Promise<number> {
  const changed: { claim: EndedClaim; transition: RowTransition }[] = []
  let quarantined = 0
  for (const claim of claims) {
    const transition = transitions.get(claim.held.id) as RowTransition
    if (transition.to === 'failed') quarantined += 1
    // Nothing is remembered of it, and nothing need be: as most of what is given back.
    const entry = entryAfter(claim.entry, claim.attempt, transition, now)
    if (claim.entry !== null || entry !== null) changed.push({ claim, transition })
  }
  for (const name of new Set(changed.map(({ claim }) => claim.discovery))) {
    const some = changed.filter(({ claim }) => claim.discovery === name)
    await remember(sql, await rememberedNow(sql, book, some, now), now)
  }
  return quarantined
}

/** Rows of one discovery. The ledger speaks of the row as it is now: what its handler wrote before it died must not make it look edited. */
async function rememberedNow(
  sql: Sql,
  book: DiscoveryCache,
  rows: readonly { claim: EndedClaim; transition: RowTransition }[],
  now: number,
): Promise<Remembered[]> {
  const claims = rows.map(({ claim }) => claim)
  const seen = await seenNow(sql, book, claims[0]!.discovery, claims)
  return rows.map(({ claim, transition }) => {
    const { discovery, key } = claim
    const { version = null, hash = null } = seen.get(key) ?? {}
    const entry = seen.has(key) ? entryAfter(claim.entry, claim.attempt, transition, now) : null
    return { discovery, key, version, hash, entry }
  })
}

/** A table that is not what it was must not keep a session from ending: whatever comes of it is a new row. */
async function seenNow(sql: Sql, book: DiscoveryCache, name: string, claims: readonly EndedClaim[]) {
  await sql.run('SAVEPOINT look')
  try {
    return await book.reading(name, async ({ source }) => {
      await sql.run('ROLLBACK TO look')
      // It contains SQL of the user. The rollback below sets it back.
      await sql.run('SET LOCAL search_path TO DEFAULT')
      return readRowStates(sql, source, claims)
    })
  } catch {
    return new Map<string, { version: string | null; hash: string | null }>()
  } finally {
    await sql.run('ROLLBACK TO look')
  }
}

/** The worker was broken, not these rows: what they were charged is taken back. */
export async function forgiveRows(sql: Sql, ids: readonly string[]): Promise<void> {
  const rows = ids.map(readRowId).filter((row) => row !== null)
  if (rows.length === 0) return
  await sql.run(
    `WITH given AS (SELECT * FROM unnest($1::text[], $2::text[]) given(discovery, row_key)), forgiven AS (
       UPDATE gleaner.ledger l SET crashes = crashes - 1, attempts = greatest(0, attempts - 1) FROM given
       WHERE l.discovery = given.discovery AND l.row_key = given.row_key AND crashes > 0 AND NOT quarantined
       RETURNING l.discovery, l.row_key
     )
     UPDATE gleaner.claims c SET attempt = greatest(1, attempt - 1) FROM forgiven
     WHERE c.discovery = forgiven.discovery AND c.row_key = forgiven.row_key`,
    [rows.map((row) => row.discovery), rows.map((row) => row.key)],
  )
}
