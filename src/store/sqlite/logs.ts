import type { LogLine, Page } from '../../model/task.ts'
import type { Exchange, PageRequest } from '../contract.ts'
import { readCursor, writeCursor } from '../cursor.ts'
import type { Statements } from './statements.ts'

/** Kept per task: the newest. */
const LINES_MAX = 1_000

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
    db.sql('DELETE FROM gleaner_logs WHERE task = ? AND line <= ?').run(task, line - LINES_MAX)
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

export function readLogs(db: Statements, task: number, { limit, cursor }: PageRequest): Page<LogLine> {
  const [after = 0] = readCursor(cursor, 1)
  const rows = db
    .sql(`SELECT line, at, attempt, level, message, details FROM gleaner_logs
          WHERE task = ? AND line > ? ORDER BY line LIMIT ?`)
    .all(task, after, limit + 1) as (Omit<LogLine, 'details'> & { line: number; details: string | null })[]
  const items = rows.slice(0, limit)
  const last = items.at(-1)
  return {
    items: items.map(({ line: _, details, ...rest }) => ({
      ...rest,
      details: details === null ? null : JSON.parse(details),
    })),
    next: rows.length > limit && last ? writeCursor([last.line]) : null,
  }
}
