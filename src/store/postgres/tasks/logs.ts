import { LOG_LINES_MAX } from '../../log-row.ts'
import type { Exchange } from '../../ports/exchange.ts'
import { numberList, type Sql, textList, withoutNul } from '../server/sql.ts'
import { momentOf } from './moment.ts'
import { rowid } from './rowid.ts'

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
  const lines = logs.flatMap(({ lines }, task) => lines.map((line, nth) => ({ ...line, task, nth: nth + 1 })))
  const messages = textList(lines.map((line) => withoutNul(line.message)))
  const details = textList(lines.map((line) => line.details))
  await sql.run(writing(messages.read('$11'), details.read('$12')), [
    numberList(logs.map(({ id }) => rowid(id))),
    numberList(logs.map(({ fence }) => fence)),
    numberList(logs.map((one) => one.lines.length)),
    numberList(logs.map((_, task) => task)),
    session,
    numberList(lines.map((line) => line.task)),
    numberList(lines.map((line) => line.nth)),
    numberList(lines.map((line) => line.at)),
    numberList(lines.map((line) => line.attempt)),
    lines.map((line) => line.level),
    messages.value,
    details.value,
    now,
    holding !== undefined,
  ])
}

function writing(messages: string, details: string): string {
  return `WITH held AS MATERIALIZED (
       SELECT given.task, tasks.id, given.n, coalesce((SELECT pg_catalog.max(line) FROM gleaner.logs WHERE logs.task = tasks.id), 0) AS last
       FROM unnest($1::bigint[], $2::bigint[], $3::int[], $4::int[]) given(id, fence, n, task) JOIN gleaner.tasks USING (id)
       -- The last lines of an attempt come together with its outcome, which has just freed the task.
       WHERE tasks.session = $5 AND coalesce(tasks.fence, given.fence) = given.fence AND ${momentOf('$13')} IS NOT NULL
       ORDER BY tasks.id FOR UPDATE OF tasks
     ), given AS (
       -- Each line gets what its task tells. A join would compare each line with each task.
       SELECT *, pg_catalog.max(task_id) OVER task AS id, pg_catalog.max(task_last) OVER task AS last, pg_catalog.max(task_n) OVER task AS n
       FROM (
         SELECT task, nth, at, attempt, level, message, details, NULL AS task_id, NULL AS task_last, NULL AS task_n
         FROM unnest($6::int[], $7::int[], $8::bigint[], $9::int[], $10::text[], ${messages}, ${details})
           l(task, nth, at, attempt, level, message, details)
         UNION ALL SELECT task, 0, NULL, NULL, NULL, NULL, NULL, id, last, n FROM held) l
       WINDOW task AS (PARTITION BY task)
     ), added AS (
       INSERT INTO gleaner.logs (task, line, at, attempt, level, message, details)
       SELECT id, last + nth, at, attempt, level, message, details FROM given
       -- After an exchange whose answer was lost, the same lines come again.
       WHERE id IS NOT NULL AND nth > 0 AND nth > n - ${LOG_LINES_MAX} AND (NOT $14 OR NOT EXISTS (
         SELECT 1 FROM gleaner.logs known WHERE known.task = given.id AND known.at = given.at
           AND known.attempt = given.attempt AND known.level = given.level AND known.message = given.message))
     )
     -- One task after the other: otherwise the planner, which sees an empty table, reads all lines that there are.
     DELETE FROM gleaner.logs WHERE ctid = ANY(ARRAY(
       SELECT old.place FROM held, LATERAL (
         SELECT ctid AS place FROM gleaner.logs
         WHERE logs.task = held.id AND line <= held.last + held.n - ${LOG_LINES_MAX} OFFSET 0) old
       WHERE held.last + held.n > ${LOG_LINES_MAX}))`
}
