import type { RowAnswer } from '../../../model/row.ts'
import { isInstanceOf } from '../../../thrown.ts'
import type { Effects, Run } from '../../ports/exchange.ts'
import type { CompletedRow } from '../../ports/rows.ts'
import { removeSteps } from '../../scripts/steps.ts'
import { driveOn } from '../server/scripts.ts'
import type { TransactionOptions } from '../server/settings.ts'
import type { Sql } from '../server/sql.ts'
import { ofCallback } from '../server/sql-errors.ts'
import { asFailed, knownFor } from './completion-group.ts'
import type { KnownDiscovery } from './discovery-cache.ts'
import { faultOf, isPerhapsAltered } from './faults.ts'
import { endOurs, errorFailure, type RowAnswers, type RowToSettle, rowsToSettle } from './row-to-settle.ts'
import type { RowServices } from './services.ts'
import { endAndPause, inSettlingTransaction, lockSession, settleEndedByDiscovery } from './settle-ended.ts'
import { type Column, quoted } from './shape.ts'
import { asText } from './values.ts'

/** Undoes the transaction: the row is to be judged in another one. */
class NotDone extends Error {
  readonly row: RowToSettle
  /** What the server said, if the table is perhaps not what it was. */
  readonly altered: 'before effects' | 'after effects' | null

  constructor(row: RowToSettle, altered: NotDone['altered'] = null) {
    super('not done')
    this.row = row
    this.altered = altered
  }
}

/** A row that is completed together with the writes of its handler. */
export interface Completion {
  session: string
  run: Run
  completed: CompletedRow
  effects: Effects
}

/**
 * The handler's own writes and the row's, in one transaction: the row is locked and found to be as it was claimed, then the
 * effects run, and then what `done` returned is written. Unless all of that succeeds, nothing of it stays.
 */
export async function completeRowWith(
  services: RowServices,
  completion: Completion,
  options: TransactionOptions,
): Promise<RowAnswer> {
  const { session, run, effects } = completion
  const { values, retryAfterMs } = completion.completed
  const [row] = rowsToSettle([{ ...run, outcome: { kind: 'completed', values, retryAfterMs } }]) as [
    RowToSettle,
  ]
  const names = Object.keys(values)
  let known = await knownFor(services.book, row.discovery, names)
  for (let edition = 1; typeof known !== 'string'; edition++) {
    const by = known
    try {
      return await services.database.transaction(
        (sql) => complete(sql, by, { services, session, row, effects }),
        options,
      )
    } catch (error) {
      if (!isInstanceOf(error, NotDone)) throw error
      const isFirst = edition === 1 && error.altered !== null
      if (isFirst) known = await knownFor(services.book, row.discovery, names, true)
      // Effects run once.
      const goesOn = isFirst && (typeof known === 'string' || error.altered === 'before effects')
      if (!goesOn) return alone(services, session, error.row)
    }
  }
  const answers: RowAnswers = new Map()
  await endAndPause(services, session, [row], { answers, reason: known })
  return answers.get(row)!
}

/** In a transaction of its own: ends the claim of a row that was not done. */
async function alone(services: RowServices, session: string, row: RowToSettle): Promise<RowAnswer> {
  return inSettlingTransaction(services, async (sql, again) => {
    const { live, now } = await lockSession(sql, session, services.clockMs())
    const answers: RowAnswers = new Map()
    const ended = live ? await endOurs(sql, session, [row], answers) : []
    await settleEndedByDiscovery(services, sql, ended, { answers, now, again })
    return answers.get(row) ?? { kind: 'refused' }
  })
}

interface Completing {
  services: RowServices
  session: string
  row: RowToSettle
  effects: Effects
}

async function complete(
  sql: Sql,
  known: KnownDiscovery,
  { services, session, row, effects }: Completing,
): Promise<RowAnswer> {
  const { live } = await lockSession(sql, session, services.clockMs())
  if (!live) return { kind: 'refused' }
  const claim = await sql.row<{ row_version: string | null; row_hash: string | null }>(
    `SELECT row_version, row_hash::text AS row_hash FROM gleaner.claims
     WHERE discovery = $1 AND row_key = $2 AND fence = $3 AND session = $4 FOR UPDATE`,
    [row.discovery, row.key, row.fence, session],
  )
  if (claim === undefined) return { kind: 'refused' }
  const { source } = known
  const same = source.same(source.table, `${source.table}.xmin::text`, {
    version: '$2::text',
    hash: '$3::bigint',
  })
  const text = `SELECT 1 FROM ${source.from} WHERE ${source.hasKey(source.table, '$1::text')} AND ${same} AND ${source.eligible}
     FOR NO KEY UPDATE`
  const found = await sql.raw.query(text, [row.key, claim.row_version, claim.row_hash]).catch((error) => {
    throw isPerhapsAltered(error) ? new NotDone(row, 'before effects') : error
  })
  if (found.rows.length === 0) throw new NotDone(row)
  await effects(ofCallback(sql.raw))
  await writeDone(sql, known, row)
  await sql.run('DELETE FROM gleaner.claims WHERE discovery = $1 AND row_key = $2', [row.discovery, row.key])
  await sql.run('DELETE FROM gleaner.ledger WHERE discovery = $1 AND row_key = $2', [row.discovery, row.key])
  await driveOn(sql, removeSteps(row.id))
  // Last: it locks the session's row, and the keeper would wait for as long as the effects take.
  await sql.run('UPDATE gleaner.sessions SET completed = 1 WHERE id = $1 AND completed = 0', [session])
  return { kind: 'done' }
}

/** Writes of the effects to the row do not count as an edit. */
async function writeDone(sql: Sql, known: KnownDiscovery, row: RowToSettle): Promise<void> {
  const { source } = known
  const { values, retryAfterMs } = row.outcome as Extract<RowToSettle['outcome'], { kind: 'completed' }>
  const failed = (message: string) =>
    new NotDone({ ...row, outcome: { kind: 'failed', failure: errorFailure(message), retryAfterMs } })
  const columns = Object.keys(values).map((name) => known.column(name)!)
  try {
    if (columns.length > 0) {
      await sql.raw.query(
        `UPDATE ${source.from} SET ${assignments(columns)} WHERE ${source.hasKey(source.table, '$1::text')}`,
        [row.key, ...columns.map((column) => asText(values[column.name], column))],
      )
    }
  } catch (error) {
    if (faultOf(error) === null) throw error
    throw new NotDone(asFailed(row, error, known), isPerhapsAltered(error) ? 'after effects' : null)
  }
  const still = await sql.raw.query(
    `SELECT 1 FROM ${source.from} WHERE ${source.hasKey(source.table, '$1::text')} AND ${source.eligible}`,
    [row.key],
  )
  if (still.rows.length > 0) throw failed(leavesEligible(known))
}

function assignments(columns: readonly Column[]): string {
  return columns.map(({ name, type }, at) => `${quoted(name)} = $${at + 2}::text::${type}`).join(', ')
}

function leavesEligible({ declared }: KnownDiscovery): string {
  return `what done returned leaves the row eligible (${declared.where}): it would be found again and again`
}
