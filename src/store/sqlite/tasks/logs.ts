import { LOG_LINES_MAX } from '../../log-row.ts'
import type { Exchange } from '../../ports/exchange.ts'
import type { Statements } from '../file/statements.ts'

export function appendLogs(db: Statements, session: number, logs: Exchange['logs']): void {
  for (const { id, fence, lines } of logs) {
    const task = Number(id)
    if (!wasHeldBy(db, task, session, fence)) continue
    let line = lastLine(db, task)
    for (const { at, attempt, level, message, details } of lines) {
      line += 1
      db.sql(`INSERT INTO gleaner_logs (task, line, at, attempt, level, message, details)
              VALUES (?, ?, ?, ?, ?, ?, ?)`).run(task, line, at, attempt, level, message, details)
    }
    db.sql('DELETE FROM gleaner_logs WHERE task = ? AND line <= ?').run(task, line - LOG_LINES_MAX)
  }
}

/** The last words of an attempt come together with its outcome, which has just freed the task. */
function wasHeldBy(db: Statements, task: number, session: number, fence: number): boolean {
  return (
    db
      .sql('SELECT 1 FROM gleaner_tasks WHERE id = ? AND session = ? AND coalesce(fence, ?) = ?')
      .get(task, session, fence, fence) !== undefined
  )
}

function lastLine(db: Statements, task: number): number {
  return db.scalar('SELECT coalesce(max(line), 0) FROM gleaner_logs WHERE task = ?').get(task) as number
}
