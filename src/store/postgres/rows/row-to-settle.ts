import {
  CHANGES_MAX,
  entryAfter,
  entryAfterChange,
  type LedgerEntry,
  type RowTransition,
} from '../../../model/ledger.ts'
import { decide, type Held, returned } from '../../../model/outcome.ts'
import { type RowAnswer, type RowOutcome, readRowId } from '../../../model/row.ts'
import type { Failure } from '../../../model/task.ts'
import type { Run } from '../../ports/exchange.ts'
import { hasArrived, keepWaits } from '../../scripts/waits.ts'
import { driveOn, postgresDialect } from '../server/scripts.ts'
import type { Sql } from '../server/sql.ts'
import { type EndedClaim, endClaims, heldRow, type Remembered, readEntries, remember } from './ledger.ts'
import type { RowSource } from './source.ts'

/** A row that is handed in. */
export interface RowToSettle extends Run {
  discovery: string
  key: string
  outcome: RowOutcome
  /** Somebody keeps it locked. */
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
    // Whoever hands in the same row twice has handed it in once.
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
  answers: RowAnswers,
  now: number,
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
    const same = seen.same && row.locked !== true
    const { outcome } = row
    const { answer, entry } =
      outcome.kind === 'waits' && same
        ? await suspend(sql, { held, outcome, before }, now)
        : decided(held, outcome, before, same, now)
    answers.set(row, answer)
    remembered.push({ discovery, key, version: seen.version, hash: seen.hash, entry })
  }
  await remember(sql, remembered, now)
}

/** It gets the time as an argument. */
const DIALECT = postgresDialect(() => Number.NaN)

/** What it waits for may have come since its run ended: then it is due at once. */
async function suspend(
  sql: Sql,
  {
    held,
    outcome,
    before,
  }: { held: Held; outcome: RowOutcome & { kind: 'waits' }; before: LedgerEntry | null },
  now: number,
): Promise<{ answer: RowAnswer; entry: LedgerEntry | null }> {
  // Nothing of a row is locked while it only waits: two that change its waits and signals must not miss each other.
  await driveOn(sql, DIALECT.lockItem(held.id))
  const arrived = await driveOn(sql, hasArrived(DIALECT, held.id, outcome.waits, now))
  if (!arrived) await driveOn(sql, keepWaits(DIALECT, held.id, outcome.waits, now))
  const transition = arrived ? returned(held, null) : (decide(held, outcome) as RowTransition)
  return {
    answer: arrived ? { kind: 'returned', afterMs: 0 } : { kind: 'suspended' },
    entry: entryAfter(before, held.attempts, transition, now),
  }
}

function decided(
  held: Held,
  outcome: RowOutcome,
  before: LedgerEntry | null,
  same: boolean,
  now: number,
): { answer: RowAnswer; entry: LedgerEntry | null } {
  const follows = (transition: RowTransition) => entryAfter(before, held.attempts, transition, now)
  if (outcome.kind === 'later' || outcome.kind === 'returned') {
    const transition = decide(held, outcome) as RowTransition & { to: 'waiting' }
    return { answer: { kind: 'returned', afterMs: transition.afterMs }, entry: follows(transition) }
  }
  const times = (before?.changes ?? 0) + 1
  const afterMs = outcome.kind === 'waits' ? 0 : (outcome.retryAfterMs ?? 0)
  // A failure counts when the row is edited each time: perhaps by the very handler that fails.
  if (!same && !(outcome.kind === 'failed' && times >= CHANGES_MAX)) {
    const backsOffMs = times >= CHANGES_MAX ? afterMs : null
    return { answer: { kind: 'changed', times, backsOffMs }, entry: entryAfterChange(before, afterMs, now) }
  }
  if (outcome.kind === 'waits') throw new Error('a row that waits is suspended')
  const failure = outcome.kind === 'failed' ? outcome.failure : errorFailure(PREVENTED)
  const transition = decide(held, { ...outcome, kind: 'failed', failure }) as RowTransition
  const retryInMs = transition.to === 'waiting' ? transition.afterMs : null
  return { answer: { kind: 'failed', failure, retryInMs }, entry: follows(transition) }
}

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
