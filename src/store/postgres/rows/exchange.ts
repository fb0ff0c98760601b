import { type RowAnswer, readRowId } from '../../../model/row.ts'
import type { Run } from '../../contract.ts'
import type { RowExchange, RowsExchanged } from '../../rows.ts'
import type { Sql } from '../server/sql.ts'
import {
  asFailed,
  faultOf,
  type Group,
  groupOf,
  isLocked,
  readSettled,
  settleStatement,
  valuesOf,
  wrongColumns,
} from './completing.ts'
import { type Answers, endOurs, type HandedIn, handedIn, type Judged, judge } from './handing-in.ts'
import { endClaims } from './ledger.ts'
import { Looking } from './looking.ts'
import { liveness, type Outlook } from './outlook.ts'
import { isOwnFault, pause } from './pausing.ts'
import { IN_PASSING, QUIETLY, type RowServices } from './services.ts'

/** What an exchange changed that others wait for. `freed`: something may be claimable that was not. */
export interface RowEffect {
  answer: RowsExchanged
  freed: boolean
}

/**
 * Hands in what is finished, and takes what is next. What simply succeeds goes in one volley together with the claim; should
 * one of them be refused by the database, nothing of that has happened, and each is handed in alone.
 */
export async function exchangeRows(services: RowServices, exchange: RowExchange): Promise<RowEffect> {
  const { session, want } = exchange
  const answers: Answers = new Map()
  const rows = handedIn(exchange.outcomes)
  const { groups, others } = await sorted(services, rows)
  // Who has nothing to say and wants nothing asks whether it is still alive.
  const asksOnly = groups.length === 0 && want === null
  const apart = asksOnly || others.length > 0 || exchange.starts.length > 0 || exchange.holding !== undefined
  const told = apart ? await handInApart(services, exchange, others, answers) : NOTHING_TOLD
  if (!told.live) return { answer: sessionOver(exchange), freed: false }

  const looking = want === null ? null : new Looking(services, session, want)
  let seen =
    groups.length > 0 || looking !== null ? await together(services, session, groups, looking, answers) : null
  if (seen?.live && looking !== null) seen = await looking.go(seen)
  if (seen !== null && !seen.live) return { answer: sessionOver(exchange), freed: false }

  const all = rows.map((row) => answers.get(row)!)
  const answer: RowsExchanged = {
    claims: looking?.claims ?? [],
    answers: all,
    refused: told.refused,
    sessionEnded: false,
    suspectsWaiting: want !== null && !want.empty && seen!.suspects,
    nextDueInMs: looking === null ? null : looking.nextDueInMs(seen!),
    ...(looking === null ? {} : { paused: seen!.everythingPaused, conflicts: looking.conflicts }),
  }
  return { answer, freed: told.unknown || all.some(isFreed) }
}

function sessionOver({ outcomes, starts }: RowExchange): RowsExchanged {
  return {
    claims: [],
    answers: outcomes.map((): RowAnswer => ({ kind: 'refused' })),
    refused: starts.map(({ id }) => id),
    sessionEnded: true,
    suspectsWaiting: false,
    nextDueInMs: null,
  }
}

/** It waits again, at once. */
function isFreed(answer: RowAnswer): boolean {
  return answer.kind === 'changed' || (answer.kind === 'returned' && answer.afterMs === 0)
}

/** A row that was handed in with values that no row can take. */
interface Wrong {
  row: HandedIn
  reason: string
}

/** Rows that may simply succeed, by what is to be written; and all others. */
async function sorted(services: RowServices, rows: readonly HandedIn[]) {
  const groups = new Map<string, Group>()
  const others: (HandedIn | Wrong)[] = []
  for (const row of rows) {
    if (row.outcome.kind !== 'completed') {
      others.push(row)
      continue
    }
    let known = await services.book.get(row.discovery)
    const names = Object.keys(valuesOf(row)).sort()
    // A column that was added a moment ago is one.
    if (wrongColumns(known, names) !== null) known = await services.book.again(row.discovery)
    const reason = wrongColumns(known, names)
    if (reason !== null) {
      others.push({ row, reason })
      continue
    }
    const key = JSON.stringify([row.discovery, ...names])
    const group = groups.get(key) ?? groupOf(known, names)
    groups.set(key, group)
    group.rows.push(row)
  }
  return { groups: [...groups.values()], others }
}

/** What came of everything but completions. */
interface Told {
  live: boolean
  /** Starts whose claims are not ours any more. */
  refused: string[]
  /** Something was held that nobody knew of. */
  unknown: boolean
}

const NOTHING_TOLD: Told = { live: true, refused: [], unknown: false }

/** One transaction, which asks nothing of rows that others might have locked. */
async function handInApart(
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

/** Whoever wants to end the session waits for our commit. */
export async function lockSession(
  sql: Sql,
  session: string,
  clockMs: number | null,
): Promise<{ live: boolean; now: number }> {
  const row = await sql.row<{ live: boolean; now: number }>(
    `SELECT ended_at IS NULL AS live, coalesce($2::bigint, gleaner.now_ms()) AS now
     FROM gleaner.sessions WHERE id = $1 FOR KEY SHARE`,
    [session, clockMs],
  )
  return row ?? { live: false, now: 0 }
}

/** A discovery of which nobody can say any more what a row is like is paused, and its rows go back as they are. */
async function judgeAll(
  { book }: RowServices,
  sql: Sql,
  ended: readonly Judged[],
  answers: Answers,
  now: number,
): Promise<void> {
  for (const name of new Set(ended.map(({ row }) => row.discovery))) {
    const some = ended.filter(({ row }) => row.discovery === name)
    await sql.run('SAVEPOINT judging')
    try {
      const { source } = await book.get(name)
      await judge(sql, source, some, answers, now)
    } catch (error) {
      if (!isOwnFault(error)) throw error
      await sql.run('ROLLBACK TO judging')
      await pause(sql, name, (error as Error).message)
      for (const { row } of some) answers.set(row, { kind: 'paused', reason: (error as Error).message })
    }
  }
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

/** Everything in one volley; or, if that was refused, one by one. */
async function together(
  services: RowServices,
  session: string,
  groups: readonly Group[],
  looking: Looking | null,
  answers: Answers,
): Promise<Outlook> {
  const { database } = services
  const settling = groups.map((group) => settleStatement(group, session))
  const justLook = looking?.justLook() ?? liveness(database.sql.schema, session)
  const along = (await looking?.along()) ?? justLook
  try {
    const statements = [...settling, ...along.statements]
    const results = await database.volley(statements, groups.length > 0 ? IN_PASSING : QUIETLY)
    const seen = along.take(results.slice(groups.length))
    const unwritten = groups.map((group, at) => readSettled(group, results[at]!, answers))
    await judgeLater(services, unwritten.flat(), answers)
    return seen
  } catch (error) {
    if (faultOf(error) === null) throw error
  }
  for (const group of groups)
    for (const row of group.rows) await alone(services, session, { ...group, rows: [row] }, answers)
  return justLook.take(await database.volley(justLook.statements, QUIETLY))
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
