import type { DiscoverySource } from '../../ports/rows.ts'
import { isFixed } from '../../source.ts'
import { Statements } from '../file/statements.ts'
import { type Column, quoted, type RowSource, sourceSql } from './source-sql.ts'

/** One that leads to the eligible rows in their order; null: there is none, and rows that are not eligible are read, too. */
export function indexFor(db: Statements, source: DiscoverySource, shape: readonly Column[]): string | null {
  const indexes = db.raw.prepare(`PRAGMA main.index_list(${quoted(source.table)})`).all() as {
    name: string
    partial: number
  }[]
  // A partial one holds no others; otherwise as they come.
  const best = indexes.toSorted((one, other) => other.partial - one.partial)
  const found = best.find(({ name, partial }) => leads(db, sourceSql(source, shape, name), partial === 1))
  return found?.name ?? null
}

function leads(db: Statements, { next }: RowSource, partial: boolean): boolean {
  let details: string[]
  try {
    const plan = db.raw.prepare(`EXPLAIN QUERY PLAN ${next('beginning')}`).all() as { detail: string }[]
    details = plan.map(({ detail }) => detail)
  } catch {
    // A partial index of other rows cannot be used.
    return false
  }
  if (details.some((detail) => detail.includes('TEMP B-TREE'))) return false
  return partial || /^SEARCH .*\([^)]*=\?/.test(details[0] ?? '')
}

/** The statement that makes the index that is missing; null: there is one, or none would help. */
export function missingIndex(
  db: Statements,
  source: DiscoverySource,
  shape: readonly Column[],
): string | null {
  if (indexFor(db, source, shape) !== null) return null
  const order = [...(source.orderBy === null ? [] : [source.orderBy]), ...source.key.map(quoted)]
  const create = `CREATE INDEX ${quoted(`${source.table}_${source.name}`)} ON ${quoted(source.table)}`
  const fixed = shape.filter(({ name }) => isFixed(name, source.where)).map(({ name }) => quoted(name))
  const offers = [
    // What depends on the moment cannot stand in an index.
    ...(MOMENT.test(source.where) ? [] : [`${create} (${order.join(', ')}) WHERE ${source.where.trim()}`]),
    ...(fixed.length > 0 ? [`${create} (${[...fixed, ...order].join(', ')})`] : []),
  ]
  return offers.find((offer) => serves(db, source, shape, offer)) ?? null
}

const MOMENT = /\b(unixepoch|date|time|datetime|julianday|strftime|timediff|current_(date|time|timestamp))\b/i

/** Tried on an empty copy of the table: an offer that does not help would be made for ever. */
function serves(db: Statements, source: DiscoverySource, shape: readonly Column[], offer: string): boolean {
  const table = db.scalar(`SELECT sql FROM sqlite_schema WHERE type = 'table' AND name = ?`).get(source.table)
  const scratch = db.driver.open(':memory:', { readonly: false })
  try {
    scratch.exec(table as string)
    scratch.exec(offer)
    return indexFor(new Statements(scratch, db.driver), source, shape) !== null
  } catch {
    // A function of the user's own, perhaps: better no advice than one that cannot be followed.
    return false
  } finally {
    scratch.close()
  }
}
