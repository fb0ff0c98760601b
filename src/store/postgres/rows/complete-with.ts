import type { RowAnswer } from '../../../model/row.ts'
import type { Effects, Run } from '../../contract.ts'
import type { CompletedRow } from '../../rows.ts'
import type { Manner } from '../server/database.ts'
import type { Sql } from '../server/sql.ts'
import type { Known } from './book.ts'
import { asFailed, faultOf, wrongColumns } from './completing.ts'
import { type Answers, endOurs, failureOf, type HandedIn, handedIn, judge } from './handing-in.ts'
import { lockSession } from './judging.ts'
import { pause } from './pausing.ts'
import type { RowServices } from './services.ts'
import { type Column, quoted } from './shape.ts'
import { asText } from './values.ts'

/** Undoes the transaction: the row is to be judged in another one. */
class NotDone extends Error {
  readonly row: HandedIn

  constructor(row: HandedIn) {
    super('not done')
    this.row = row
  }
}

/**
 * The handler's own writes and the row's, in one transaction: the row is locked and found to be as it was claimed, then the
 * effects run, and then what `done` returned is written. Unless all of that succeeds, nothing of it stays.
 */
export async function completeRowWith(
  services: RowServices,
  session: string,
  run: Run,
  { values, retryAfterMs }: CompletedRow,
  effects: Effects,
  manner: Manner,
): Promise<RowAnswer> {
  const [row] = handedIn([{ ...run, outcome: { kind: 'completed', values, retryAfterMs } }]) as [HandedIn]
  const known = await services.book.get(row.discovery)
  const names = Object.keys(values)
  const wrong = wrongColumns(known, names)
  if (wrong !== null)
    return (await alone(services, session, known, row, wrong)) ?? { kind: 'paused', reason: wrong }
  try {
    return await services.database.transaction(
      (sql) => complete(services, sql, session, known, row, effects),
      manner,
    )
  } catch (error) {
    if (!(error instanceof NotDone)) throw error
    return (await alone(services, session, known, error.row, null))!
  }
}

/** In a transaction of its own: ends the claim of a row that was not done. Null: it was ours, and nothing more is said. */
async function alone(
  { database, clockMs }: RowServices,
  session: string,
  known: Known,
  row: HandedIn,
  wrong: string | null,
): Promise<RowAnswer | null> {
  return database.transaction(
    async (sql) => {
      const { live, now } = await lockSession(sql, session, clockMs())
      const answers: Answers = new Map()
      const ended = live ? await endOurs(sql, session, [row], answers) : []
      if (ended.length === 0) return { kind: 'refused' }
      if (wrong !== null) {
        await pause(sql, known.name, wrong)
        return null
      }
      await judge(sql, known.source, ended, answers, now)
      return answers.get(row)!
    },
    { durable: false },
  )
}

async function complete(
  { clockMs }: RowServices,
  sql: Sql,
  session: string,
  known: Known,
  row: HandedIn,
  effects: Effects,
): Promise<RowAnswer> {
  const { live } = await lockSession(sql, session, clockMs())
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
  const found = await sql.raw.query(
    `SELECT 1 FROM ${source.from} WHERE ${source.hasKey(source.table, '$1::text')} AND ${same} AND ${source.eligible}
     FOR NO KEY UPDATE`,
    [row.key, claim.row_version, claim.row_hash],
  )
  if (found.rows.length === 0) throw new NotDone(row)
  await effects({ query: (text: string, values?: any[]) => sql.raw.query(text, values) })
  await writeDone(sql, known, row)
  await sql.run('DELETE FROM gleaner.claims WHERE discovery = $1 AND row_key = $2', [row.discovery, row.key])
  await sql.run('DELETE FROM gleaner.ledger WHERE discovery = $1 AND row_key = $2', [row.discovery, row.key])
  // Last: it locks the session's row, and the keeper would wait for as long as the effects take.
  await sql.run('UPDATE gleaner.sessions SET completed = 1 WHERE id = $1 AND completed = 0', [session])
  return { kind: 'done' }
}

/** What the effects did to the row before is no edit of somebody else's. */
async function writeDone(sql: Sql, known: Known, row: HandedIn): Promise<void> {
  const { source } = known
  const { values, retryAfterMs } = row.outcome as Extract<HandedIn['outcome'], { kind: 'completed' }>
  const failed = (message: string) =>
    new NotDone({ ...row, outcome: { kind: 'failed', failure: failureOf(message), retryAfterMs } })
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
    throw new NotDone(asFailed(row, error, known))
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

function leavesEligible({ declared }: Known): string {
  return `what done returned leaves the row eligible (${declared.where}): it would be found again and again`
}
