import { LOG_LINES_MAX } from '../../log-row.ts'
import type { Exchange } from '../../ports/exchange.ts'
import { numberList, type Sql, storable, textList } from '../server/sql.ts'
import { momentOf } from '../tasks/moment.ts'
import { rowid } from '../tasks/rowid.ts'

/**
 * One statement for all tasks. It numbers a task's lines on from the last one and keeps the newest `LOG_LINES_MAX`.
 * `now`: null for the time that the transaction keeps.
 */
export async function appendLogs(
  sql: Sql,
  { session, logs, holding }: Exchange,
  now: number | null,
): Promise<void> {
  if (logs.length === 0) return
  const lines = logs.flatMap(({ id, fence, lines }) => lines.map((line) => ({ ...line, id, fence })))
  const messages = textList(lines.map((line) => storable(line.message)))
  const details = textList(lines.map((line) => line.details))
  await sql.run(
    `WITH given AS MATERIALIZED (
       SELECT *, pg_catalog.row_number() OVER (PARTITION BY id ORDER BY position) AS nth, pg_catalog.count(*) OVER (PARTITION BY id) AS n
       FROM unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::int[], $5::text[], ${messages.read('$6')}, ${details.read('$7')})
         WITH ORDINALITY AS l(id, fence, at, attempt, level, message, details, position)
     ), held AS MATERIALIZED (
       SELECT tasks.id, given.fence, given.n, coalesce((SELECT pg_catalog.max(line) FROM gleaner.logs WHERE task = tasks.id), 0) AS last
       FROM (SELECT DISTINCT id, fence, n FROM given) given JOIN gleaner.tasks USING (id)
       -- The last lines of an attempt come together with its outcome, which has just freed the task.
       WHERE tasks.session = $8 AND coalesce(tasks.fence, given.fence) = given.fence AND ${momentOf('$10')} IS NOT NULL
       ORDER BY tasks.id FOR UPDATE OF tasks
     ), added AS (
       INSERT INTO gleaner.logs (task, line, at, attempt, level, message, details)
       SELECT id, last + nth, at, attempt, level, message, details FROM given JOIN held USING (id, fence, n)
       -- After an exchange whose answer was lost, the same lines come again.
       WHERE nth > n - ${LOG_LINES_MAX} AND (NOT $9 OR NOT EXISTS (
         SELECT 1 FROM gleaner.logs known WHERE known.task = given.id AND known.at = given.at
           AND known.attempt = given.attempt AND known.level = given.level AND known.message = given.message))
     )
     DELETE FROM gleaner.logs USING held WHERE logs.task = held.id AND line <= held.last + held.n - ${LOG_LINES_MAX}`,
    [
      numberList(lines.map((line) => rowid(line.id))),
      numberList(lines.map((line) => line.fence)),
      numberList(lines.map((line) => line.at)),
      numberList(lines.map((line) => line.attempt)),
      lines.map((line) => line.level),
      messages.value,
      details.value,
      session,
      holding !== undefined,
      now,
    ],
  )
}
