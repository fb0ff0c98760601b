import type { Sql } from '../server/sql.ts'
import type { DiscoveryCache, KnownDiscovery } from './discovery-cache.ts'
import { isOwnFault, isPerhapsAltered } from './faults.ts'
import { isOfRowAsFound, thenOf } from './source.ts'

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

interface Asked {
  write<T>(work: (sql: Sql) => Promise<T>): Promise<T>
  book: DiscoveryCache
  sql: Sql
}

/**
 * A bounded step through the claims, and then through the ledger: what has no reason any more is removed. Whoever still works
 * on a row that needs nothing works in vain.
 */
export async function repairRows(asked: Asked, { limit, after }: RepairStep) {
  const place = after === null ? BEGINNING : (JSON.parse(after) as Place)
  const some = await asked.sql.rows<{ discovery: string; key: string }>(
    `SELECT discovery, row_key AS key FROM gleaner.${place.table} WHERE (discovery, row_key) > ($1, $2)
     ORDER BY discovery, row_key LIMIT $3`,
    [place.discovery, place.key, limit],
  )
  let removed = 0
  for (const discovery of new Set(some.map((row) => row.discovery))) {
    const keys = some.filter((row) => row.discovery === discovery).map((row) => row.key)
    removed += await removeNeedless(asked, place.table, discovery, keys).catch((error) => {
      // Its condition fails on a row: whoever works on it will pause it.
      if (isOwnFault(error)) return 0
      throw error
    })
  }
  const last = some.at(-1)
  if (last !== undefined && some.length === limit) {
    return { removed, next: JSON.stringify({ table: place.table, ...last }) }
  }
  return {
    removed,
    next: place.table === 'claims' ? JSON.stringify({ ...BEGINNING, table: 'ledger' }) : null,
  }
}

async function removeNeedless(
  { write, book }: Asked,
  table: Place['table'],
  discovery: string,
  keys: readonly string[],
): Promise<number> {
  const remove = async (again: boolean) => {
    const known = await book.getOrProblem(discovery, again)
    // Null: it is not known any more which rows it means.
    return removeBy(write, known instanceof Error ? null : known, { table, discovery, keys })
  }
  try {
    return await remove(false)
  } catch (error) {
    if (!isPerhapsAltered(error)) throw error
  }
  return remove(true)
}

async function removeBy(
  write: Asked['write'],
  known: KnownDiscovery | null,
  { table, discovery, keys }: { table: Place['table']; discovery: string; keys: readonly string[] },
): Promise<number> {
  if (table === 'claims') return write((sql) => endNeedlessClaims(sql, known, discovery, keys))
  if (known === null) return 0
  return write(async (sql) => {
    await seeAsFound(sql, known, keys)
    return forgetNeedless(sql, known, keys)
  })
}

/** What was copied from another database holds for the row as it is now, and no longer when that is edited. */
async function seeAsFound(
  sql: Sql,
  { source, name }: KnownDiscovery,
  keys: readonly string[],
): Promise<void> {
  const { table } = source
  const text = `UPDATE "${sql.schema}".ledger l SET row_version = ${source.version(table, `${table}.xmin::text`)},
      row_hash = ${source.hash(table)}
    FROM ${source.from} WHERE l.discovery = $1 AND l.row_key = ANY($2::text[]) AND ${isOfRowAsFound(thenOf('l'))}
      AND ${source.hasKey(table, 'l.row_key')}`
  await sql.raw.query(text, [name, keys as string[]])
}

async function endNeedlessClaims(
  sql: Sql,
  known: KnownDiscovery | null,
  discovery: string,
  keys: readonly string[],
) {
  const needless = known === null ? 'false' : `NOT EXISTS (${eligibleRow(known, 'c.row_key')})`
  const text = `DELETE FROM "${sql.schema}".claims c WHERE c.discovery = $1 AND c.row_key = ANY($2::text[]) AND (
      NOT EXISTS (SELECT 1 FROM "${sql.schema}".sessions s WHERE s.id = c.session AND s.ended_at IS NULL) OR ${needless})`
  return (await sql.raw.query(text, [discovery, keys as string[]])).rowCount ?? 0
}

async function forgetNeedless(sql: Sql, known: KnownDiscovery, keys: readonly string[]): Promise<number> {
  const { source, name } = known
  const same = source.same(source.table, `${source.table}.xmin::text`, thenOf('l'))
  const text = `DELETE FROM "${sql.schema}".ledger l WHERE l.discovery = $1 AND l.row_key = ANY($2::text[])
      AND NOT EXISTS (SELECT 1 FROM "${sql.schema}".claims c WHERE c.discovery = $1 AND c.row_key = l.row_key)
      AND NOT EXISTS (${eligibleRow(known, 'l.row_key')} AND ${same})`
  return (await sql.raw.query(text, [name, keys as string[]])).rowCount ?? 0
}

function eligibleRow({ source }: KnownDiscovery, key: string): string {
  return `SELECT 1 FROM ${source.from} WHERE ${source.hasKey(source.table, key)} AND ${source.eligible}`
}
