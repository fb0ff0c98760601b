import type { RowRecord, RowState } from '../../../model/row.ts'
import type { RowCircumstances } from '../../../model/row-explanation.ts'
import type { Page } from '../../../model/task.ts'
import { badCursor, readPlace, writePlace } from '../../cursor.ts'
import { PageBytes } from '../../page-bytes.ts'
import type { PageRequest } from '../../ports/page.ts'
import { type ServingRow, serving } from '../../serving-row.ts'
import type { Sql } from '../server/sql.ts'
import type { KnownDiscovery } from './discovery-cache.ts'
import { faultOf } from './faults.ts'
import { entryOf, type LedgerRow } from './ledger.ts'
import { readDiscovery } from './plan.ts'
import { quoted } from './shape.ts'
import { thenOf } from './source.ts'

/** Rows that one page looks at, so that it answers soon although few fit. */
const EXAMINED_MAX = 5_000

interface StateRow extends Partial<LedgerRow> {
  key: string
  place: string
  state: RowState | null
  since: number | null
  claimed_at: number | null
  worker: string | null
}

/** Of keys and places that `candidates` gives: what they are. `$1` is the time. State is NULL where a row is not eligible. */
function statesOf({ source }: KnownDiscovery, schema: string, candidates: string): string {
  const { table, name } = source
  const xmin = `${table}.xmin::text`
  return `SELECT given.key, given.place, l.attempts, l.crashes, l.changes, l.suspect, l.quarantined, l.blocked_until, l.error,
      l.history, l.since, c.claimed_at, s.worker,
      CASE WHEN t.eligible IS NULL THEN NULL WHEN c.row_key IS NOT NULL THEN 'claimed' WHEN l.quarantined THEN 'quarantined'
           WHEN l.blocked_until > $1 THEN 'backing-off' ELSE 'waiting' END AS state
    FROM (${candidates}) given
    LEFT JOIN LATERAL (
      SELECT true AS eligible, e.* FROM ${source.from}
      LEFT JOIN LATERAL (
        SELECT * FROM "${schema}".ledger entry WHERE entry.discovery = ${name} AND entry.row_key = given.key OFFSET 0
      ) e ON ${source.same(table, xmin, thenOf('e'))}
      WHERE ${source.hasKey(table, 'given.key')} AND ${source.eligible} OFFSET 0
    ) t ON true
    LEFT JOIN LATERAL (SELECT t.attempts, t.crashes, t.changes, t.suspect, t.quarantined, t.blocked_until, t.error, t.history,
      t.since) l ON true
    LEFT JOIN "${schema}".claims c ON c.discovery = ${name} AND c.row_key = given.key
    LEFT JOIN "${schema}".sessions s ON s.id = c.session
    ORDER BY given.n`
}

async function states(
  sql: Sql,
  known: KnownDiscovery,
  candidates: string,
  values: unknown[],
  now: number,
): Promise<StateRow[]> {
  // Not by `sql.rows`, which would read the user's words for ours.
  return (await sql.raw.query(statesOf(known, sql.schema, candidates), [now, ...values])).rows
}

export async function readRow(
  sql: Sql,
  known: KnownDiscovery,
  key: string,
  now: number,
): Promise<RowRecord | null> {
  try {
    const [row] = await states(sql, known, 'SELECT $2::text AS key, NULL AS place, 1 AS n', [key], now)
    return row === undefined || row.state === null ? null : recordOf(row)
  } catch (error) {
    if (isNoKey(error)) return null
    throw error
  }
}

/** The text cannot be a key of this type. */
export function isNoKey(error: unknown): boolean {
  return /^22/.test(faultOf(error) ?? '')
}

function recordOf(row: StateRow): RowRecord {
  const state = row.state!
  const entry = row.attempts === null || row.attempts === undefined ? null : entryOf(row as LedgerRow)
  return {
    key: row.key,
    state,
    attempts: entry?.attempts ?? 0,
    crashes: entry?.crashes ?? 0,
    error: entry?.error ?? null,
    worker: state === 'claimed' ? row.worker : null,
    since: state === 'claimed' ? row.claimed_at : state === 'waiting' ? null : row.since,
    nextAt: state === 'backing-off' ? entry!.blockedUntil : null,
    history: entry?.history ?? [],
  }
}

export async function listRows(
  sql: Sql,
  known: KnownDiscovery,
  { state }: { state?: RowState },
  { limit, cursor }: PageRequest,
  now: number,
): Promise<Page<RowRecord>> {
  const items: RowRecord[] = []
  const bytes = new PageBytes()
  let place = readPlace(cursor)
  for (let examined = 0; examined < EXAMINED_MAX; examined += limit) {
    const { text, values } = candidatesOf(known, sql.schema, state, place, limit, now)
    const some = await states(sql, known, text, values, now).catch(async (error) => {
      throw isNoKey(error) && place !== null && !(await isPlace(sql, known, place)) ? badCursor() : error
    })
    for (const row of some) {
      const isListed = row.state !== null && (state === undefined || row.state === state)
      const record = isListed ? recordOf(row) : null
      if (record !== null && !bytes.hasRoomFor(record)) return { items, next: writePlace(place!) }
      place = row.place
      if (record === null) continue
      items.push(record)
      if (items.length === limit) return { items, next: writePlace(place) }
    }
    if (some.length < limit) return { items, next: null }
  }
  return { items, next: place === null ? null : writePlace(place) }
}

/** Who may be in this state, behind a place, in the order of the listing. `$2` is how many. */
function candidatesOf(
  { source }: KnownDiscovery,
  schema: string,
  state: RowState | undefined,
  place: string | null,
  limit: number,
  now: number,
): { text: string; values: unknown[] } {
  const { table, name } = source
  const kept = (from: string) =>
    `SELECT row_key AS key, row_key AS place, pg_catalog.row_number() OVER () AS n FROM (
       SELECT row_key FROM "${schema}".${from} AND row_key COLLATE "C" > $3 ORDER BY row_key COLLATE "C" LIMIT $2) kept`
  switch (state) {
    case 'claimed':
      return { text: kept(`claims WHERE discovery = ${name}`), values: [limit, place ?? ''] }
    case 'quarantined':
    case 'backing-off': {
      const which = `ledger WHERE discovery = ${name} AND quarantined = $4 AND blocked_until > $5`
      return { text: kept(which), values: [limit, place ?? '', state === 'quarantined', now] }
    }
  }
  const behind = place === null ? '' : `AND ${source.behind(table, '$3::text')}`
  const text = `SELECT t.*, pg_catalog.row_number() OVER () AS n FROM (
    SELECT ${source.keyText(table)} AS key, ${source.place(table)} AS place FROM ${source.from}
    WHERE ${source.eligible} ${behind} ORDER BY ${source.order} LIMIT $2) t`
  return { text, values: place === null ? [limit] : [limit, place] }
}

export async function readRowCircumstances(
  sql: Sql,
  /** An error: why the declaration does not fit its table. */
  known: KnownDiscovery | Error,
  { name, key }: { name: string; key: string },
  now: number,
): Promise<RowCircumstances> {
  const { paused, pausedReason, createIndex, where } = await readDiscovery(sql, name)
  const row = await sql.row<{ everything: boolean; suspect: boolean; workers: ServingRow[] }>(
    `SELECT (SELECT value <> 0 FROM gleaner.settings WHERE key = 'paused') AS everything,
            EXISTS (SELECT 1 FROM gleaner.ledger WHERE discovery = $1 AND row_key = $2 AND suspect) AS suspect,
            (SELECT coalesce(pg_catalog.json_agg(pg_catalog.json_build_object('worker', worker, 'host', host, 'boot', boot, 'pid', pid,
               'start_time', start_time, 'queues', queues, 'names', names, 'capabilities', capabilities,
               'discoveries', discoveries, 'holdups', holdups) ORDER BY s.id), '[]') FROM gleaner.sessions s WHERE ended_at IS NULL) AS workers`,
    [name, key],
  )
  const { everything, suspect, workers } = row!
  return {
    discovery: name,
    key,
    problem: known instanceof Error ? known.message : null,
    exists: !(known instanceof Error) && (await isThere(sql, known, key)),
    row: known instanceof Error ? null : await readRow(sql, known, key, now),
    where,
    now,
    suspect,
    everythingPaused: everything,
    paused,
    pausedReason,
    createIndex,
    workers: workers.map(serving),
  }
}

async function isThere(sql: Sql, { source }: KnownDiscovery, key: string): Promise<boolean> {
  const there = `SELECT 1 FROM ${source.from} WHERE ${source.hasKey(source.table, '$1::text')}`
  try {
    return (await sql.raw.query(there, [key])).rows.length > 0
  } catch (error) {
    if (isNoKey(error)) return false
    throw error
  }
}

/** Whether the server can read a place as values of the columns that give the order. */
async function isPlace(sql: Sql, { source }: KnownDiscovery, place: string): Promise<boolean> {
  const nulls = source.columns.map(({ name, type }) => `NULL::${type} AS ${quoted(name)}`).join(', ')
  const text = `SELECT ${source.behind(source.table, '$1::text')} FROM (SELECT ${nulls}) AS ${source.table}`
  try {
    await sql.raw.query(text, [place])
    return true
  } catch (error) {
    if (isNoKey(error)) return false
    throw error
  }
}
