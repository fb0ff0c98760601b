import { asFailed, type Group, groupOf, knownFor, readSettled, settleStatement } from './completion-group.ts'
import { faultOf, isLocked, isPerhapsAltered } from './faults.ts'
import { type FirstBatch, liveness, type RowPreconditions } from './preconditions.ts'
import { type EndedRow, endOurs, type RowAnswers, type RowToSettle } from './row-to-settle.ts'
import type { RowScan } from './scan.ts'
import { BACKGROUND, BACKGROUND_SHORT_LOCK, type RowServices } from './services.ts'
import { endAndPause, inSettlingTransaction, lockSession, settleEndedByDiscovery } from './settle-ended.ts'

/** The rows of one exchange that are settled, and what became of them. */
interface Settling {
  services: RowServices
  session: string
  answers: RowAnswers
}

/** Everything in one batch; or, if that was refused, one by one. */
export async function settleBatch(
  settling: Settling,
  groups: readonly Group[],
  scan: RowScan | null,
): Promise<RowPreconditions> {
  const { services, session } = settling
  const { database } = services
  const justLook = scan?.justLook() ?? liveness(database.sql.schema, session)
  const along = (await scan?.along()) ?? justLook
  const seen = await inOneBatch(settling, groups, along)
  if (seen === null) {
    for (const group of groups) await oneByOne(settling, group)
  } else if (along.depth === 'thorough' || !seen.ripe) return seen
  return justLook.take(await database.batch(justLook.statements, BACKGROUND))
}

/** Null: it was refused, and nothing of it has happened. */
async function inOneBatch(
  settling: Settling,
  groups: readonly Group[],
  along: FirstBatch,
): Promise<RowPreconditions | null> {
  const { services, session, answers } = settling
  const statements = [...groups.map((group) => settleStatement(group, session)), ...along.statements]
  let results: any[][][]
  try {
    results = await services.database.batch(
      statements,
      groups.length > 0 ? BACKGROUND_SHORT_LOCK : BACKGROUND,
    )
  } catch (error) {
    if (faultOf(error) === null) throw error
    return null
  }
  const seen = along.take(results.slice(groups.length))
  const unwritten = groups.map((group, at) => readSettled(group, results[at]!, answers))
  await settleLater(settling, unwritten.flat())
  return seen
}

/** Their claims have ended. Another worker may have them now, so the ledger is not changed. */
async function settleLater({ services, answers }: Settling, unwritten: readonly EndedRow[]): Promise<void> {
  if (unwritten.length === 0) return
  await inSettlingTransaction(services, async (sql, again) => {
    const now = services.clockMs() ?? (await sql.row<{ now: number }>('SELECT gleaner.now_ms() AS now'))!.now
    await settleEndedByDiscovery(services, sql, unwritten, { answers, now, again })
  })
}

/** Each in a transaction of its own; if the table was altered since, by what it is like now. */
async function oneByOne(settling: Settling, given: Group): Promise<void> {
  const { services, session, answers } = settling
  let group = given
  for (const [at, row] of given.rows.entries()) {
    const mayBeOutdated = group === given
    try {
      await alone(settling, { ...group, rows: [row] }, mayBeOutdated)
    } catch (error) {
      if (!mayBeOutdated || !isPerhapsAltered(error)) throw error
      const fresh = await validatedAgain(services, given)
      if (typeof fresh === 'string') {
        return endAndPause(services, session, given.rows.slice(at), { answers, reason: fresh })
      }
      group = fresh
      await alone(settling, { ...group, rows: [row] }, false)
    }
  }
}

/** A text: why its rows cannot be written any more. */
async function validatedAgain({ book }: RowServices, { known, columns }: Group): Promise<Group | string> {
  const names = columns.map(({ name }) => name)
  const fresh = await knownFor(book, known.name, names, true)
  return typeof fresh === 'string' ? fresh : groupOf(fresh, names)
}

/** Throws what says that the table is not what it was, if that may be. */
async function alone(settling: Settling, group: Group, mayBeOutdated: boolean): Promise<void> {
  const { services, session, answers } = settling
  const row = group.rows[0]!
  try {
    const [result] = await services.database.batch([settleStatement(group, session)], BACKGROUND)
    await settleLater(settling, readSettled(group, result!, answers))
  } catch (error) {
    if (faultOf(error) === null || (mayBeOutdated && isPerhapsAltered(error))) throw error
    const failed = isLocked(error) ? { ...row, locked: true } : asFailed(row, error, group.known)
    await settleFailed(settling, failed)
    answers.set(row, answers.get(failed) ?? { kind: 'refused' })
  }
}

async function settleFailed({ services, session, answers }: Settling, failed: RowToSettle): Promise<void> {
  await inSettlingTransaction(services, async (sql, again) => {
    const { live, now } = await lockSession(sql, session, services.clockMs())
    const ended = live ? await endOurs(sql, session, [failed], answers) : []
    await settleEndedByDiscovery(services, sql, ended, { answers, now, again })
  })
}
