import { type RowAnswer, type RowOutcome, readRowId } from '../../../model/row.ts'
import type { Failure } from '../../../model/task.ts'
import type { Run } from '../../ports/exchange.ts'
import { settlementOf } from '../../scripts/rows/settle.ts'
import { driveOn, postgresDialect } from '../server/scripts.ts'
import type { Sql } from '../server/sql.ts'
import { type EndedClaim, endClaims, heldRow, type Remembered, readEntries, remember } from './ledger.ts'
import type { RowSource } from './source.ts'

/** A row that is handed in. */
export interface RowToSettle extends Run {
  discovery: string
  key: string
  outcome: RowOutcome
  /** Another transaction keeps it locked. */
  locked?: boolean
}

export type RowAnswers = Map<RowToSettle, RowAnswer>

export function rowsToSettle(outcomes: readonly (Run & { outcome: RowOutcome })[]): RowToSettle[] {
  return outcomes.map((run) => ({ ...run, ...readRowId(run.id)! }))
}

/** A row whose claim was ended, and what is to become of it. */
export interface EndedRow {
  row: RowToSettle
  claim: EndedClaim
}

/** In a transaction: proves these claims and ends them. Others are refused. */
export async function endOurs(
  sql: Sql,
  session: string,
  rows: readonly RowToSettle[],
  answers: RowAnswers,
): Promise<EndedRow[]> {
  const ended = await endClaims(
    sql,
    'c.discovery = given.discovery AND c.row_key = given.row_key AND c.fence = given.fence AND c.session + 0 = $4',
    [rows.map((row) => row.discovery), rows.map((row) => row.key), rows.map((row) => row.fence), session],
    'USING unnest($1::text[], $2::text[], $3::bigint[]) given(discovery, row_key, fence)',
  )
  const byId = new Map(ended.map((claim) => [claim.held.id, claim]))
  return rows.flatMap((row) => {
    const claim = byId.get(row.id)
    // A row that is handed in twice counts once.
    byId.delete(row.id)
    if (claim === undefined) answers.set(row, { kind: 'refused' })
    return claim === undefined ? [] : [{ row, claim }]
  })
}

/** What a row is like now. */
interface Seen {
  version: string | null
  hash: string | null
  same: boolean
}

/**
 * In a transaction: what follows for rows of one discovery whose claims were ended without being done. The ledger speaks of
 * the row as it is now: what its own handler wrote must not make it look edited.
 */
export async function settleEnded(
  sql: Sql,
  source: RowSource,
  judged: readonly EndedRow[],
  { answers, now }: { answers: RowAnswers; now: number },
): Promise<void> {
  const eligible = await readRowStates(
    sql,
    source,
    judged.map(({ claim }) => claim),
  )
  const entries = await readEntries(
    sql,
    judged.map(({ claim }) => claim),
  )
  const remembered: Remembered[] = []
  for (const { row, claim } of judged) {
    const { discovery, key } = claim
    const seen = eligible.get(key)
    if (seen === undefined) {
      answers.set(row, { kind: 'gone' })
      remembered.push({ discovery, key, version: null, hash: null, entry: null })
      continue
    }
    const before = entries.get(claim.held.id) ?? null
    const held = { ...heldRow(source.declared, claim.held.id, claim.attempt, before), started: true }
    const isEdited = !seen.same || row.locked === true
    const unwritten = { held, before, isEdited, problem: PREVENTED }
    const { answer, entry } = await driveOn(sql, settlementOf(DIALECT, unwritten, row.outcome, now))
    answers.set(row, answer)
    remembered.push({ discovery, key, version: seen.version, hash: seen.hash, entry })
  }
  await remember(sql, remembered, now)
}

/** It gets the time as an argument. */
const DIALECT = postgresDialect(() => Number.NaN)

const PREVENTED = 'what done returned was not written: a trigger or a rule of the table has prevented it'

export function errorFailure(message: string): Failure {
  return { kind: 'error', message, stack: null }
}

/** Those that are there and still eligible, by key. */
export async function readRowStates(
  sql: Sql,
  source: RowSource,
  rows: readonly { key: string; version: string | null; hash: string | null }[],
): Promise<Map<string, Seen>> {
  const { table } = source
  const xmin = `${table}.xmin::text`
  const then = { version: 'given."gleaner:version"', hash: 'given."gleaner:hash"' }
  const text = `SELECT given."gleaner:key" AS key, t.*
    FROM unnest($1::text[], $2::text[], $3::bigint[]) given("gleaner:key", "gleaner:version", "gleaner:hash")
    CROSS JOIN LATERAL (
      SELECT ${source.version(table, xmin)} AS version, ${source.hash(table)}::text AS hash,
             ${source.same(table, xmin, then)} AS same
      FROM ${source.from} WHERE ${source.hasKey(table, 'given."gleaner:key"')} AND ${source.eligible} OFFSET 0
    ) t`
  const values = [rows.map((row) => row.key), rows.map((row) => row.version), rows.map((row) => row.hash)]
  // Not by `sql.rows`, which would read the user's words for ours.
  const found = (await sql.raw.query(text, values)).rows as (Seen & { key: string })[]
  return new Map(found.map((seen) => [seen.key, seen]))
}
