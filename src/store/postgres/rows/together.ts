import { asFailed, faultOf, type Group, isLocked, readSettled, settleStatement } from './completing.ts'
import { type Answers, endOurs, type HandedIn, type Judged } from './handing-in.ts'
import { judgeAll, lockSession } from './judging.ts'
import type { Looking } from './looking.ts'
import { type Along, liveness, type Outlook } from './outlook.ts'
import { IN_PASSING, QUIETLY, type RowServices } from './services.ts'

/** Everything in one volley; or, if that was refused, one by one. */
export async function together(
  services: RowServices,
  session: string,
  groups: readonly Group[],
  looking: Looking | null,
  answers: Answers,
): Promise<Outlook> {
  const { database } = services
  const justLook = looking?.justLook() ?? liveness(database.sql.schema, session)
  const along = (await looking?.along()) ?? justLook
  const seen = await inOneVolley(services, session, groups, along, answers)
  if (seen === null) {
    for (const group of groups)
      for (const row of group.rows) await alone(services, session, { ...group, rows: [row] }, answers)
  } else if (along.depth === 'thorough' || !seen.ripe) return seen
  return justLook.take(await database.volley(justLook.statements, QUIETLY))
}

/** Null: it was refused, and nothing of it has happened. */
async function inOneVolley(
  services: RowServices,
  session: string,
  groups: readonly Group[],
  along: Along,
  answers: Answers,
): Promise<Outlook | null> {
  const statements = [...groups.map((group) => settleStatement(group, session)), ...along.statements]
  let results: any[][][]
  try {
    results = await services.database.volley(statements, groups.length > 0 ? IN_PASSING : QUIETLY)
  } catch (error) {
    if (faultOf(error) === null) throw error
    return null
  }
  const seen = along.take(results.slice(groups.length))
  const unwritten = groups.map((group, at) => readSettled(group, results[at]!, answers))
  await judgeLater(services, unwritten.flat(), answers)
  return seen
}

/** Their claims are over already: nobody can tell from here whether somebody else has them now, and the ledger need not know. */
async function judgeLater(
  services: RowServices,
  unwritten: readonly Judged[],
  answers: Answers,
): Promise<void> {
  if (unwritten.length === 0) return
  await services.database.transaction(async (sql) => {
    const now = services.clockMs() ?? (await sql.row<{ now: number }>('SELECT gleaner.now_ms() AS now'))!.now
    await judgeAll(services, sql, unwritten, answers, now)
  }, QUIETLY)
}

async function alone(services: RowServices, session: string, group: Group, answers: Answers): Promise<void> {
  const row = group.rows[0]!
  try {
    const [result] = await services.database.volley([settleStatement(group, session)], QUIETLY)
    await judgeLater(services, readSettled(group, result!, answers), answers)
  } catch (error) {
    if (faultOf(error) === null) throw error
    const failed = isLocked(error) ? { ...row, locked: true } : asFailed(row, error, group.known)
    await judgeAlone(services, session, failed, answers)
    answers.set(row, answers.get(failed) ?? { kind: 'refused' })
  }
}

async function judgeAlone(
  services: RowServices,
  session: string,
  failed: HandedIn,
  answers: Answers,
): Promise<void> {
  await services.database.transaction(async (sql) => {
    const { live, now } = await lockSession(sql, session, services.clockMs())
    const ended = live ? await endOurs(sql, session, [failed], answers) : []
    await judgeAll(services, sql, ended, answers, now)
  }, QUIETLY)
}
