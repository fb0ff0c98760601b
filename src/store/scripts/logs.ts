import type { LogLine, Page } from '../../model/task.ts'
import { readCursor } from '../cursor.ts'
import { type LogRow, logPage } from '../log-row.ts'
import type { LogRequest } from '../ports/tasks.ts'
import { rows, type Script } from '../sql/script.ts'
import { sql } from '../sql/sql.ts'

export function* readLogs(task: number, request: LogRequest): Script<Page<LogLine>> {
  const [after = 0] = readCursor(request.cursor, 1)
  const lines = yield* rows<LogRow>(sql`
    SELECT line, at, attempt, level, message, details FROM gleaner.logs
    WHERE task = ${task} AND line > CAST(${after} AS bigint) ORDER BY line LIMIT ${request.limit + 1}`)
  return logPage(lines, request)
}
