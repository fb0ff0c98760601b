import type { Sql } from '../server/sql.ts'
import { type Answers, type Judged, judge } from './handing-in.ts'
import { isOwnFault, pause } from './pausing.ts'
import type { RowServices } from './services.ts'

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
export async function judgeAll(
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
