import type { Exchange } from '../../ports/exchange.ts'
import { numberList, type Sql, withoutNul } from '../server/sql.ts'
import { momentOf } from './moment.ts'
import { rowid } from './rowid.ts'

/** Each given task, if it is held under the fence that is given with it, and by the session whose number follows. */
export const HELD_AS_GIVEN = 'tasks.id = given.id AND tasks.fence = given.fence AND tasks.session ='

/** Returns the tasks that are not held as given. `now`: null for the time that the transaction keeps. */
export async function noteStarts(
  sql: Sql,
  { session, starts }: Exchange,
  now: number | null,
): Promise<string[]> {
  if (starts.length === 0) return []
  const rows = await sql.rows<{ id: string }>(
    `UPDATE gleaner.tasks SET status = 'running', started_at = given.started_at
     FROM unnest($1::bigint[], $2::bigint[], $3::bigint[]) given(id, fence, started_at)
     WHERE ${HELD_AS_GIVEN} $4 AND ${momentOf('$5')} IS NOT NULL RETURNING tasks.id::text AS id`,
    [
      numberList(starts.map((run) => rowid(run.id))),
      numberList(starts.map((run) => run.fence)),
      numberList(starts.map((run) => run.startedAt)),
      session,
      now,
    ],
  )
  const noted = new Set(rows.map((row) => row.id))
  return starts.filter((run) => !noted.has(run.id)).map((run) => run.id)
}

/** `now`: null for the time that the transaction keeps. */
export async function noteProgress(
  sql: Sql,
  { session, progress }: Exchange,
  now: number | null,
): Promise<void> {
  if (progress.length === 0) return
  await sql.run(
    `UPDATE gleaner.tasks SET progress = given.fraction, progress_message = given.message
     FROM unnest($1::bigint[], $2::bigint[], $3::float8[], $4::text[]) given(id, fence, fraction, message)
     WHERE ${HELD_AS_GIVEN} $5 AND ${momentOf('$6')} IS NOT NULL`,
    [
      progress.map((p) => rowid(p.id)),
      progress.map((p) => p.fence),
      progress.map((p) => p.fraction),
      progress.map((p) => (p.message === null ? null : withoutNul(p.message))),
      session,
      now,
    ],
  )
}
