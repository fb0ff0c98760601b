import { readRowId, rowId } from '../../../model/row.ts'
import type { Run } from '../../ports/exchange.ts'
import type { RowExchange } from '../../ports/rows.ts'
import { pauseBroken } from '../../scripts/rows/discoveries.ts'
import { driveOn } from '../server/scripts.ts'
import type { Sql } from '../server/sql.ts'
import { endClaims } from './ledger.ts'
import { endOurs, type RowAnswers, type RowToSettle } from './row-to-settle.ts'
import type { RowServices } from './services.ts'
import { inSettlingTransaction, lockSession, settleEndedByDiscovery } from './settle-ended.ts'

/** A row that was handed in with values that no row can take. */
export interface InvalidCompletion {
  row: RowToSettle
  reason: string
}

/** What came of everything but completions. */
export interface SettledApart {
  live: boolean
  /** What was started, or is believed to be held, and is not ours any more. */
  refused: string[]
  /** The session held rows that its worker did not know of. */
  unknown: boolean
  /** Of the server. */
  life: number | null
}

export const NOTHING_SETTLED: SettledApart = { live: true, refused: [], unknown: false, life: null }

/** One transaction, which asks nothing of rows that others might have locked. */
export async function settleApart(
  services: RowServices,
  exchange: RowExchange,
  others: readonly (RowToSettle | InvalidCompletion)[],
  answers: RowAnswers,
): Promise<SettledApart> {
  const { session, starts } = exchange
  const wrong = others.filter((one) => 'reason' in one)
  const rows = others.map((one) => ('reason' in one ? one.row : one))
  return inSettlingTransaction(services, async (sql, again) => {
    for (const row of rows) answers.delete(row)
    const moment = await lockSession(sql, session, services.clockMs())
    if (!moment.live) return { ...NOTHING_SETTLED, live: false }
    const ended = await endOurs(sql, session, rows, answers)
    for (const { row, reason } of wrong) {
      if (answers.has(row)) continue
      await driveOn(sql, pauseBroken(row.discovery, reason))
      answers.set(row, { kind: 'paused', reason })
    }
    for (const { row } of ended) {
      if (row.outcome.kind === 'returned') answers.set(row, { kind: 'returned', afterMs: 0 })
    }
    const left = ended.filter(({ row }) => !answers.has(row))
    await settleEndedByDiscovery(services, sql, left, { answers, now: moment.now, again })
    const { unknown, lost } = await compareHeld(sql, exchange)
    const refused = [...lost, ...(await noteStarts(sql, session, starts))]
    return { live: true, unknown, refused, life: moment.life }
  })
}

/**
 * What only the database knows of goes back: it was claimed in an exchange whose answer never arrived, or its completion was
 * lost. What only the worker knows of is lost. What is handed in now is neither.
 */
async function compareHeld(
  sql: Sql,
  { session, holding, outcomes }: RowExchange,
): Promise<{ unknown: boolean; lost: string[] }> {
  if (holding === undefined) return { unknown: false, lost: [] }
  const known = [...holding, ...outcomes.map(({ id }) => id)].map(readRowId).filter((row) => row !== null)
  const unknown = await endClaims(
    sql,
    'c.session = $1 AND (c.discovery, c.row_key) NOT IN (SELECT * FROM unnest($2::text[], $3::text[]))',
    [session, known.map((row) => row.discovery), known.map((row) => row.key)],
  )
  const held = await sql.rows<{ discovery: string; row_key: string }>(
    'SELECT discovery, row_key FROM gleaner.claims WHERE session = $1',
    [session],
  )
  const ours = new Set(held.map(({ discovery, row_key }) => rowId(discovery, row_key)))
  return { unknown: unknown.length > 0, lost: holding.filter((id) => !ours.has(id)) }
}

async function noteStarts(sql: Sql, session: string, starts: readonly Run[]): Promise<string[]> {
  if (starts.length === 0) return []
  const rows = starts.map((run) => readRowId(run.id)!)
  const noted = await sql.rows<{ n: number }>(
    `UPDATE gleaner.claims c SET started_at = given.started_at
     FROM unnest($1::text[], $2::text[], $3::bigint[], $4::bigint[]) WITH ORDINALITY given(discovery, row_key, fence, started_at, n)
     WHERE c.discovery = given.discovery AND c.row_key = given.row_key AND c.fence = given.fence AND c.session + 0 = $5
     RETURNING given.n`,
    [
      rows.map((row) => row.discovery),
      rows.map((row) => row.key),
      starts.map((run) => run.fence),
      starts.map((run) => run.startedAt),
      session,
    ],
  )
  const ours = new Set(noted.map(({ n }) => n - 1))
  return starts.filter((_, at) => !ours.has(at)).map(({ id }) => id)
}
