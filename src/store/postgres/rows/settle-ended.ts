import { pauseBroken } from '../../scripts/rows/discoveries.ts'
import { driveOn } from '../server/scripts.ts'
import { LIFE } from '../server/server-life.ts'
import type { Sql } from '../server/sql.ts'
import { isOwnFault, isPerhapsAltered } from './faults.ts'
import { type EndedRow, endOurs, type RowAnswers, type RowToSettle, settleEnded } from './row-to-settle.ts'
import { BACKGROUND, type RowServices } from './services.ts'

/** A transaction that ends the session waits for this commit. */
export async function lockSession(
  sql: Sql,
  session: string,
  clockMs: number | null,
): Promise<{ live: boolean; now: number; life: number | null }> {
  const row = await sql.row<{ live: boolean; now: number; life: number | null }>(
    `SELECT ended_at IS NULL AS live, coalesce($2::bigint, gleaner.now_ms()) AS now, ${LIFE} AS life
     FROM gleaner.sessions WHERE id = $1 FOR KEY SHARE`,
    [session, clockMs],
  )
  return row ?? { live: false, now: 0, life: null }
}

/** Thrown when the table of a discovery is perhaps not what it was: what was begun is undone, and done once more. */
class Altered extends Error {
  readonly discovery: string

  constructor(discovery: string) {
    super('altered')
    this.discovery = discovery
  }
}

/** Whether it is the second time, after what was altered was looked over. */
export type SettlingWork<T> = (sql: Sql, again: boolean) => Promise<T>

/** A transaction that judges rows; a second one, if a table turns out to have been altered. */
export async function inSettlingTransaction<T>(
  { database, book }: RowServices,
  work: SettlingWork<T>,
): Promise<T> {
  try {
    return await database.transaction((sql) => work(sql, false), BACKGROUND)
  } catch (error) {
    if (!(error instanceof Altered)) throw error
    await book.getOrProblem(error.discovery, true)
  }
  return database.transaction((sql) => work(sql, true), BACKGROUND)
}

/** If the state of the rows can no longer be read, their discovery is paused, and they go back as they are. */
export async function settleEndedByDiscovery(
  { book }: RowServices,
  sql: Sql,
  ended: readonly EndedRow[],
  { answers, now, again }: { answers: RowAnswers; now: number; again: boolean },
): Promise<void> {
  for (const name of new Set(ended.map(({ row }) => row.discovery))) {
    const some = ended.filter(({ row }) => row.discovery === name)
    await sql.run('SAVEPOINT judging')
    try {
      const { source } = await book.get(name)
      await settleEnded(sql, source, some, { answers, now })
    } catch (error) {
      if (!again && isPerhapsAltered(error)) throw new Altered(name)
      if (!isOwnFault(error)) throw error
      await sql.run('ROLLBACK TO judging')
      await driveOn(sql, pauseBroken(name, (error as Error).message))
      for (const { row } of some) answers.set(row, { kind: 'paused', reason: (error as Error).message })
    }
  }
}

/** Ends the claims of rows of one discovery, and pauses it. No attempt is charged. */
export async function endAndPause(
  { database, clockMs }: RowServices,
  session: string,
  rows: readonly RowToSettle[],
  { answers, reason }: { answers: RowAnswers; reason: string },
): Promise<void> {
  await database.transaction(async (sql) => {
    const { live } = await lockSession(sql, session, clockMs())
    for (const row of rows) answers.set(row, { kind: 'refused' })
    for (const { row } of live ? await endOurs(sql, session, rows, answers) : []) {
      await driveOn(sql, pauseBroken(row.discovery, reason))
      answers.set(row, { kind: 'paused', reason })
    }
  }, BACKGROUND)
}
