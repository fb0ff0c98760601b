import { readRowId } from '../../../model/row.ts'
import type { Run } from '../../contract.ts'
import type { RowExchange } from '../../rows.ts'
import type { Sql } from '../server/sql.ts'
import { type Answers, endOurs, type HandedIn } from './handing-in.ts'
import { judgeAll, lockSession } from './judging.ts'
import { endClaims } from './ledger.ts'
import { pause } from './pausing.ts'
import { QUIETLY, type RowServices } from './services.ts'

/** A row that was handed in with values that no row can take. */
export interface Wrong {
  row: HandedIn
  reason: string
}

/** What came of everything but completions. */
export interface Told {
  live: boolean
  /** Starts whose claims are not ours any more. */
  refused: string[]
  /** Something was held that nobody knew of. */
  unknown: boolean
}

export const NOTHING_TOLD: Told = { live: true, refused: [], unknown: false }

/** One transaction, which asks nothing of rows that others might have locked. */
export async function handInApart(
  services: RowServices,
  exchange: RowExchange,
  others: readonly (HandedIn | Wrong)[],
  answers: Answers,
): Promise<Told> {
  const { session, starts } = exchange
  return services.database.transaction(async (sql) => {
    const moment = await lockSession(sql, session, services.clockMs())
    if (!moment.live) return { ...NOTHING_TOLD, live: false }
    const wrong = others.filter((one) => 'reason' in one)
    const rows = others.map((one) => ('reason' in one ? one.row : one))
    const ended = await endOurs(sql, session, rows, answers)
    for (const { row, reason } of wrong) {
      if (answers.has(row)) continue
      await pause(sql, row.discovery, reason)
      answers.set(row, { kind: 'paused', reason })
    }
    for (const { row } of ended) {
      if (row.outcome.kind === 'returned') answers.set(row, { kind: 'returned', afterMs: 0 })
    }
    await judgeAll(
      services,
      sql,
      ended.filter(({ row }) => !answers.has(row)),
      answers,
      moment.now,
    )
    const unknown = await handBackUnknown(sql, exchange)
    return { live: true, unknown, refused: await noteStarts(sql, session, starts) }
  }, QUIETLY)
}

/** What an exchange claimed whose answer never arrived. What is handed in now is no part of it. */
async function handBackUnknown(sql: Sql, { session, holding, outcomes }: RowExchange): Promise<boolean> {
  if (holding === undefined) return false
  const known = [...holding, ...outcomes.map(({ id }) => id)].map(readRowId).filter((row) => row !== null)
  const unknown = await endClaims(
    sql,
    'c.session = $1 AND (c.discovery, c.row_key) NOT IN (SELECT * FROM unnest($2::text[], $3::text[]))',
    [session, known.map((row) => row.discovery), known.map((row) => row.key)],
  )
  return unknown.length > 0
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
