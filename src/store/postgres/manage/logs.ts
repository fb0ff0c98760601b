import type { LogLine, Page } from '../../../model/task.ts'
import type { Exchange, LogRequest } from '../../contract.ts'
import { readCursor } from '../../cursor.ts'
import { LOG_LINES_MAX, type LogRow, logPage } from '../../log-row.ts'
import { type Sql, storable } from '../server/sql.ts'
import { rowid } from '../tasks/task-records.ts'

export async function appendLogs(sql: Sql, { session, logs, holding }: Exchange): Promise<void> {
  for (const { id: given, fence, lines } of logs) {
    const id = rowid(given)
    // The last words of an attempt come together with its outcome, which has just freed the task.
    const held = await sql.row<{ last: number }>(
      `SELECT coalesce((SELECT pg_catalog.max(line) FROM gleaner.logs WHERE task = $1), 0) AS last FROM gleaner.tasks
       WHERE id = $1 AND session = $2 AND coalesce(fence, $3) = $3 FOR UPDATE`,
      [id, session, fence],
    )
    if (held === undefined) continue
    await sql.run(
      `INSERT INTO gleaner.logs (task, line, at, attempt, level, message, details)
       SELECT $1, $2 + position, at, attempt, level, message, details
       FROM unnest($3::bigint[], $4::int[], $5::text[], $6::text[], $7::text[]) WITH ORDINALITY
         AS l(at, attempt, level, message, details, position)
       WHERE NOT $8 OR NOT EXISTS (SELECT 1 FROM gleaner.logs known WHERE known.task = $1 AND known.at = l.at
         AND known.attempt = l.attempt AND known.level = l.level AND known.message = l.message)`,
      [
        id,
        held.last,
        lines.map((line) => line.at),
        lines.map((line) => line.attempt),
        lines.map((line) => line.level),
        lines.map((line) => storable(line.message)),
        lines.map((line) => line.details),
        // After an exchange whose answer was lost they come again.
        holding !== undefined,
      ],
    )
    await sql.run('DELETE FROM gleaner.logs WHERE task = $1 AND line <= $2', [
      id,
      held.last + lines.length - LOG_LINES_MAX,
    ])
  }
}

export async function readLogs(sql: Sql, task: string, request: LogRequest): Promise<Page<LogLine>> {
  const [after = 0] = readCursor(request.cursor, 1)
  const rows = await sql.rows<LogRow>(
    `SELECT line, at, attempt, level, message, details FROM gleaner.logs
     WHERE task = $1 AND line > $2::bigint ORDER BY line LIMIT $3`,
    [task, after, request.limit + 1],
  )
  return logPage(rows, request)
}
